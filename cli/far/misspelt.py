"""Misspelt fields of an Application or AppProject, found by its CustomResourceDefinition. Pure.

The definition keeps fields that it does not know, because Argo CD has more than we read; so a field
is refused only where it resembles one that the definition has and the author probably meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

from handlers.application.crd import definitions

_ALIKE = 0.8
_FOREIGN = frozenset(
    {
        "syncWindows",
        "sourceHydrator",
        "skipTests",
        "labelWithoutSelector",
        "commonAnnotationsEnvsubst",
    }
)
"""Argo CD's fields that resemble one of ours and mean something else."""


def misspelt(kind: str, manifest: Mapping[str, Any]) -> Iterator[str]:
    """`spec.sourc is not a field; did you mean source?`."""
    found = [it for it in definitions().values() if it["spec"]["names"]["kind"] == kind]
    for definition in found:
        (version,) = definition["spec"]["versions"]
        yield from _misspelt(version["schema"]["openAPIV3Schema"], manifest, "")


def _misspelt(schema: Mapping[str, Any], value: object, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _misspelt(schema.get("items", {}), item, f"{path}[{i}]")
    if not isinstance(value, Mapping) or "properties" not in schema:
        return
    known = schema["properties"]
    for name, inner in value.items():
        here = f"{path}.{name}".lstrip(".")
        if name in known:
            yield from _misspelt(known[name], inner, here)
        elif meant := _meant(str(name), [it for it in known if it not in value]):
            yield f"{here} is not a field; did you mean {meant}?"


def _meant(name: str, known: list[str]) -> str:
    if name in _FOREIGN:
        return ""
    same = {it.lower(): it for it in known}
    near = difflib.get_close_matches(name.lower(), same, n=1, cutoff=_ALIKE)
    return same[near[0]] if near else ""
