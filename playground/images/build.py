"""The two images of the Dockerfile, each built once for exactly these sources."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from playground.compiling import Gauge, Watcher, locked, run_watched
from playground.images.bases import ROOT, base_images, make_bases
from playground.images.buildah import Buildah, find_buildah, trusted_here
from playground.toolchain import fingerprint

TARGETS = ("agent", "service")
_SECONDS = {"agent": 240.0, "service": 100.0}
"""With an empty cache on two cores."""
_NOT_OF = {
    "agent": ("service", "web", "requirements.service.lock"),
    "service": ("requirements.image.lock", "sandbox/worker", "sandbox/plugins", "sandbox/sops"),
}
"""What the builder is sent and this image does not hold: its changes leave the image as it is."""
_UNWANTED = ("__pycache__", "node_modules", "static", "bin", ".*")


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltImage:
    target: str
    name: str
    bytes: int
    buildah: Buildah

    @property
    def megabytes(self) -> int:
        return round(self.bytes / 1e6)

    @contextmanager
    def mounted(self) -> Iterator[MountedImage]:
        """Its files, for looking and for starting. With vfs each mount is a copy of all files."""
        with self.buildah.mounted(self.name) as files:
            yield MountedImage(image=self, files=files)


@dataclass(frozen=True, slots=True, kw_only=True)
class MountedImage:
    """An image whose files stand in a folder of this machine, to be read by everybody."""

    image: BuiltImage
    files: Path


@dataclass(frozen=True, slots=True)
class _Step:
    seconds: float


def build_images(watch: Watcher) -> dict[str, BuiltImage]:
    """Both images by target, from the store where these very sources were built before.

    Raises ToolMissingError where buildah is not to be had, BuildError where a build fails.
    """
    buildah = find_buildah()
    buildah.folder.mkdir(parents=True, exist_ok=True)
    steps = [_Step(base.seconds) for base in base_images()]
    gauge = Gauge([*steps, *(_Step(_SECONDS[target]) for target in TARGETS)], watch)
    with locked(buildah.folder / "build", gauge):
        arguments = make_bases(buildah, gauge)
        return {target: _build(buildah, target, arguments, gauge) for target in TARGETS}


def _build(buildah: Buildah, target: str, arguments: dict[str, str], gauge: Gauge) -> BuiltImage:
    repository = f"localhost/plumbline/{target}"
    name = f"{repository}:{fingerprint(sorted(sources_of(target)), ROOT)}"
    if not buildah.has(name):
        buildah.forget_steps()
        pairs = [word for pair in arguments.items() for word in ("--build-arg", "=".join(pair))]
        kept = f"--layers={str(buildah.keeps_steps).lower()}"
        options = ("--isolation", "chroot", "--network", "host", "--format", "docker", kept)
        words = (*options, *trusted_here(), *pairs, "--target", target, "--tag", name, str(ROOT))
        run_watched(
            buildah.command("build", *words),
            ROOT,
            gauge,
            f"building the image of the {target}",
            buildah.environment,
        )
        _forget_others(buildah, repository, name)
    gauge.next()
    (found,) = (one for one in buildah.images() if name in (one.get("names") or ()))
    return BuiltImage(target=target, name=name, bytes=_size(found["size"]), buildah=buildah)


def _forget_others(buildah: Buildah, repository: str, name: str) -> None:
    """Earlier sources' images would fill the disk."""
    for image in buildah.images():
        names = image.get("names") or ()
        if name not in names and any(one.startswith(f"{repository}:") for one in names):
            buildah.read("rmi", "--force", image["id"])


def sources_of(target: str) -> Iterator[Path]:
    """List what the image is made of: what .dockerignore lets through and the image holds."""
    yield ROOT / "Dockerfile"
    left_out = [ROOT / name for name in _NOT_OF[target]]
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    for top in (rule[1:] for rule in rules if rule.startswith("!")):
        place = ROOT / top
        found = (place,) if place.is_file() else _files(place)
        yield from (it for it in found if not any(it.is_relative_to(one) for one in left_out))


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if any(fnmatchcase(path.name, pattern) for pattern in _UNWANTED):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file():
            yield path


def _size(output: str) -> int:
    """`497 MB`, as buildah says it, in bytes."""
    number, unit = output.split()
    return round(float(number) * {"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}[unit.upper()])
