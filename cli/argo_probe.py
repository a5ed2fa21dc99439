"""Argo CD's part of `gitops agent check`: settings and ApplicationSets that are not acted on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

import msgspec

from agent.kube.client import KubeClient
from cli.probes import Finding
from handlers.application.application import Metadata
from handlers.application.argo_settings import CONFIG_MAP, read_settings
from handlers.ports import ApplyRefusedError

_HELD = "Remove the setting, or sync by hand: automated syncs are held while it is there."
_TOLD = "Nothing, if that is meant; docs/compatibility.md says what is acted on."
_SETS = "Write the Applications themselves, or keep the controller that makes them."


async def argo(client: KubeClient, namespace: str) -> list[Finding]:
    """Return a finding for each; what is not there or may not be read has none."""
    data: Mapping[str, str] = {}
    sets: tuple[str, ...] = ()
    with suppress(ApplyRefusedError):
        raw = await client.get(f"/api/v1/namespaces/{namespace}/configmaps/{CONFIG_MAP}")
        data = msgspec.json.decode(raw, type=_ConfigMap).data or {}
    with suppress(ApplyRefusedError):
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{namespace}/applicationsets"
        listed = msgspec.json.decode(await client.get(path), type=_Listed)
        sets = tuple(one.metadata.name for one in listed.items)
    return list(findings(data, sets))


def findings(data: Mapping[str, str], sets: Iterable[str]) -> Iterator[Finding]:
    """`data`: of the ConfigMap; `sets`: the names of the ApplicationSets."""
    settings = read_settings(data)
    for one in settings.unsupported:
        found = f"{one.field} is not acted on by this version: {one.consequence}"
        remedy = _HELD if one.harmful else _TOLD
        yield Finding(part="argo cd", ok=not one.harmful, found=found, remedy=remedy)
    for kind in sorted(settings.ignored_kinds):
        found = f"ignoreDifferences of {kind} in {CONFIG_MAP} is not acted on by this version"
        yield Finding(part="argo cd", ok=False, found=found, remedy=_HELD)
    names = sorted(sets)
    if names:
        found = f"no Applications are made of the ApplicationSets {', '.join(names)}"
        yield Finding(part="argo cd", ok=False, found=found, remedy=_SETS)


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


class _Named(msgspec.Struct, frozen=True):
    metadata: Metadata


class _Listed(msgspec.Struct, frozen=True):
    items: tuple[_Named, ...]
