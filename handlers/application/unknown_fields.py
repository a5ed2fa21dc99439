"""Fields of an Application or AppProject that the agent does not know. Pure.

The CustomResourceDefinition keeps fields that it does not know, because a newer Argo CD has more
than we read. Each is named: by the CLI to whoever hands a file in, by the agent as a condition. A
field that resembles one of ours is probably a mistake, and the message says what was meant.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from handlers.application.crd import definitions
from handlers.application.unknown_field import UnknownField

_ALIKE = 0.8
_OTHERS = frozenset(
    {
        "syncWindows",
        "sourceHydrator",
        "skipTests",
        "labelWithoutSelector",
        "commonAnnotationsEnvsubst",
    }
)
"""Argo CD's fields that resemble one of ours and mean something else."""
_METADATA: Mapping[str, Any] = {
    name: {}
    for name in (
        *("name", "generateName", "namespace", "labels", "annotations", "finalizers"),
        *("ownerReferences", "managedFields", "uid", "resourceVersion", "generation"),
        *("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"),
    )
}
"""Every field of Kubernetes' ObjectMeta."""


def unknown_fields(kind: str, manifest: Mapping[str, Any]) -> Iterator[UnknownField]:
    """Those of a `kind` of argoproj.io; of any other kind none."""
    schema = _schemas().get(kind)
    if schema is not None:
        yield from _unknown(schema, manifest, "")


@cache
def _schemas() -> Mapping[str, Mapping[str, Any]]:
    """By kind; ApplicationSets are open, so nothing of them is unknown."""
    found = {}
    for definition in definitions().values():
        (version,) = definition["spec"]["versions"]
        whole = version["schema"]["openAPIV3Schema"]
        properties = {**whole["properties"], "metadata": {"properties": _METADATA}}
        found[definition["spec"]["names"]["kind"]] = {**whole, "properties": properties}
    return found


def _unknown(schema: Mapping[str, Any], value: object, path: str) -> Iterator[UnknownField]:
    if isinstance(value, list):
        for i, item in enumerate(value):
            yield from _unknown(schema.get("items", {}), item, f"{path}[{i}]")
    if not isinstance(value, Mapping):
        return
    if "properties" not in schema:
        for name, inner in value.items():
            yield from _unknown(schema.get("additionalProperties", {}), inner, f"{path}.{name}")
        return
    known = schema["properties"]
    for name, inner in value.items():
        here = f"{path}.{name}".lstrip(".")
        if name in known:
            yield from _unknown(known[name], inner, here)
        else:
            meant = _meant(str(name), [it for it in known if it not in value])
            yield UnknownField(path=here, meant=meant)


def _meant(name: str, known: list[str]) -> str:
    if name in _OTHERS:
        return ""
    same = {it.lower(): it for it in known}
    similar = difflib.get_close_matches(name.lower(), same, n=1, cutoff=_ALIKE)
    return same[similar[0]] if similar else ""
