"""The bill of materials of an image: every package in it, as CycloneDX 1.6.

Read from what the image holds: dpkg's list, the metadata that pip left, what the Go compiler wrote
into its programs; the dashboard is one bundle, so its packages come from its lock file.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path

from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from playground.images.bases import ROOT
from playground.images.build import MountedImage
from playground.toolchain import find_go

_GO_PROGRAMS = tuple(
    f"usr/local/bin/{name}" for name in ("gitops-sandbox", "gitops-plugins", "gitops-sops")
)


def bill_of_materials(mounted: MountedImage) -> str:
    """A CycloneDX document (JSON), its components sorted by their package URL."""
    target = mounted.image.target
    found = {one.to_string(): one for one in _packages(target, mounted.files)}
    bom = Bom(components=[_component(url) for _, url in sorted(found.items())])
    whole = Component(name=f"plumbline-{target}", type=ComponentType.CONTAINER)
    bom.metadata.component = whole
    bom.register_dependency(whole, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=2)


def _packages(target: str, files: Path) -> Iterator[PackageURL]:
    yield from _debian(files / "var/lib/dpkg/status")
    yield from _python(files)
    for program in _GO_PROGRAMS:
        if (files / program).is_file():
            yield from _go(files / program)
    if target == "service":
        yield from _npm(ROOT / "web" / "package-lock.json")


def _debian(status: Path) -> Iterator[PackageURL]:
    for paragraph in status.read_text().strip().split("\n\n"):
        fields = HeaderParser().parsestr(paragraph)
        if fields["Status"].endswith(" installed"):
            yield PackageURL("deb", "debian", fields["Package"], fields["Version"])


def _python(files: Path) -> Iterator[PackageURL]:
    places = (files / "opt/gitops/lib").glob("python3.*/site-packages")
    for one in distributions(path=[str(place) for place in places]):
        yield PackageURL("pypi", None, one.metadata["Name"], one.version)


def _go(program: Path) -> Iterator[PackageURL]:
    """`go version -m` prints a line `dep PATH VERSION SUM` for each module; `=>` replaces it."""
    command = [find_go(), "version", "-m", str(program)]
    output = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    for line in output.splitlines():
        words = line.split()
        if words and words[0] in ("dep", "=>"):
            namespace, _, name = words[1].rpartition("/")
            yield PackageURL("golang", namespace or None, name, words[2])


def _npm(lock: Path) -> Iterator[PackageURL]:
    for place, package in json.loads(lock.read_text())["packages"].items():
        if place and not package.get("dev"):
            scope, _, name = place.rpartition("node_modules/")[2].rpartition("/")
            yield PackageURL("npm", scope or None, name, package["version"])


def _component(url: PackageURL) -> Component:
    return Component(
        name=url.name, group=url.namespace, version=url.version, purl=url, bom_ref=url.to_string()
    )
