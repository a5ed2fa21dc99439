"""Writes what is made from code, whenever the code changes: definitions and the base's agent.

The CustomResourceDefinitions come from the types of handlers/application, for the base and for the
chart; base/agent.yaml is the chart with its default values, and what the service makes its
manifests from is the chart with all choices taken, so that they cannot disagree.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from cli.local.sandbox import open_sandbox
from deploy import render
from handlers.application.crd import definitions
from sandbox.client import Sandbox

_SHIPPED = Path("..", "service", "api", "agents", "install")
_EVERYTHING: Mapping[str, Any] = {
    "imagePullSecrets": [{"name": "pull"}],
    "link": {
        "url": "https://service",
        "caSecret": "ca",
        "manage": True,
        "limits": {"readOnly": "true"},
    },
    "proxy": {"url": "http://proxy"},
}
"""Every choice that the service's wizard offers, taken; see chart_copy.py of the service."""
_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "namespaced": {"profile": "namespaced"},
    "roles": {"profile": "namespaced", "roles": True},
    "cluster": {"profile": "cluster"},
}
_FROM_TYPES = "# Made from handlers/application by deploy/generate.py; do not edit.\n"
_FROM_CHART = "# Made from deploy/chart by deploy/generate.py; do not edit.\n"
_FROM_SERVICE = "# Made from deploy/service-chart by deploy/generate.py; do not edit.\n"


async def files(sandbox: Sandbox) -> Mapping[Path, str]:
    """Every generated file, relative to deploy/, with its content."""
    found: dict[Path, str] = {}
    for name, definition in definitions().items():
        found[Path("base", "crds", f"{name}.yaml")] = text_of(definition)
        found[Path("chart", "definitions", f"{name}.yaml")] = text_of(definition)
    agent = await render.chart(sandbox, {"crds": {"install": False}}, render.NAMESPACE)
    found[Path("base", "agent.yaml")] = _FROM_CHART + "---\n".join(map(_yaml, agent))
    found[_SHIPPED / "base.json"] = _json([_namespace(), *agent])
    fullest = await render.chart(sandbox, _EVERYTHING, render.NAMESPACE)
    found[_SHIPPED / "fullest.json"] = _json(list(fullest))
    found[_SHIPPED / "profiles.json"] = _json(await _profiles(sandbox))
    service = await render.service_chart(sandbox, {}, render.SERVICE_NAMESPACE)
    found[Path("service-base", "service.yaml")] = _FROM_SERVICE + "---\n".join(map(_yaml, service))
    return found


async def _profiles(sandbox: Sandbox) -> Mapping[str, list[Mapping[str, Any]]]:
    """The kinds that an agent may write with each profile, as the chart's ClusterRole says it."""
    made: dict[str, list[Mapping[str, Any]]] = {}
    for name, rights in _PROFILES.items():
        objects = await render.chart(sandbox, {"rights": rights}, render.NAMESPACE)
        (role,) = [one for one in objects if one["kind"] == "ClusterRole"]
        made[name] = [
            {"apiGroups": rule["apiGroups"], "resources": rule["resources"]}
            for rule in role["rules"]
            if "delete" in rule["verbs"]
        ]
    return made


def text_of(definition: Mapping[str, Any]) -> str:
    return _FROM_TYPES + _yaml(definition)


def _namespace() -> render.Object:
    found: render.Object = yaml.safe_load((render.FOLDER / "base" / "namespace.yaml").read_text())
    return found


def _json(content: object) -> str:
    return msgspec.json.format(msgspec.json.encode(content), indent=1).decode() + "\n"


def _yaml(manifest: Mapping[str, Any]) -> str:
    return yaml.dump(dict(manifest), Dumper=_Plain, sort_keys=False, width=100)


class _Plain(yaml.SafeDumper):
    """Without anchors, which a reader does not expect, and with lists set in."""

    def ignore_aliases(self, data: object) -> bool:
        return data is not None

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002  the library's signature
        super().increase_indent(flow, indentless=False)


def main() -> None:
    for path, text in asyncio.run(_made()).items():
        file = render.FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


async def _made() -> Mapping[Path, str]:
    async with open_sandbox() as sandbox:
        return await files(sandbox)


if __name__ == "__main__":
    main()
