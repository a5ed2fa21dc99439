"""Secrets whose values anybody who reads the branch could read. Pure.

Argo CD's hydrator commits whatever was rendered. Here a Secret with values goes into Git only if
they are encrypted by SOPS, or if the AppProject permits it by an annotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from handlers.application.application import AppProject
from handlers.application.titles import listed_titles
from handlers.hydrate.nested_objects import nested_objects

PLAIN_SECRETS = "plumbline.dev/hydrated-secrets"
PERMITTED = "permitted"
_ENCRYPTED = "ENC["


def plain_secrets_problem(objects: Iterable[object], project: AppProject) -> str:
    """Name the Secrets that must not be committed; empty where there are none."""
    if project.metadata.annotations.get(PLAIN_SECRETS) == PERMITTED:
        return ""
    named = [f"Secret {_name(one)}" for one in nested_objects(objects) if _is_plain(one)]
    if not named:
        return ""
    return (
        f"{listed_titles(named)} would be committed with readable values; expected none in Git: "
        "encrypt them (SOPS, SealedSecret), refer to them (ExternalSecret), or permit it by the "
        f"annotation {PLAIN_SECRETS}: {PERMITTED} of the AppProject {project.metadata.name!r}"
    )


def _is_plain(manifest: Mapping[str, Any]) -> bool:
    if manifest.get("kind") != "Secret" or "/" in str(manifest.get("apiVersion", "v1")):
        return False
    values = [*_values(manifest.get("data")), *_values(manifest.get("stringData"))]
    is_encrypted = isinstance(manifest.get("sops"), Mapping) and bool(manifest["sops"].get("mac"))
    return any(not (is_encrypted and str(one).startswith(_ENCRYPTED)) for one in values)


def _values(block: object) -> Iterator[object]:
    """Yield the values that are not empty; a block that is no mapping is one value itself."""
    if isinstance(block, Mapping):
        yield from filter(None, block.values())
    elif block:
        yield block


def _name(manifest: Mapping[str, Any]) -> str:
    metadata = manifest.get("metadata")
    name = (
        metadata.get("name") or metadata.get("generateName")
        if isinstance(metadata, Mapping)
        else ""
    )
    return str(name or "without a name")[:253]
