"""Secrets that are not committed: those that anybody could read, and those that nobody could. Pure.

Argo CD's hydrator commits whatever was rendered. Here a Secret with values goes into Git only if
the AppProject permits it by an annotation. What SOPS has encrypted has a code (MAC) that proves the
file it was encrypted in; in the file of all manifests it would prove nothing, and be refused there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from handlers.application.application import AppProject
from handlers.application.titles import listed_titles, title
from handlers.hydrate.nested_objects import nested_objects
from handlers.manifest.encryption import is_encrypted

PLAIN_SECRETS = "plumbline.dev/hydrated-secrets"
PERMITTED = "permitted"


def plain_secrets_problem(objects: Iterable[object], project: AppProject) -> str:
    """Name the objects that must not be committed; empty where there are none."""
    found = tuple(nested_objects(objects))
    if encrypted := [title(one) for one in found if is_encrypted(one)]:
        return (
            f"{listed_titles(encrypted)} is encrypted by SOPS, and can be decrypted from its own "
            "file only; expected none in a dry source: deploy it by an Application with spec.source"
        )
    if project.metadata.annotations.get(PLAIN_SECRETS) == PERMITTED:
        return ""
    named = [title(one) for one in found if _is_plain(one)]
    if not named:
        return ""
    return (
        f"{listed_titles(named)} would be committed with readable values; expected none in Git: "
        "seal them (SealedSecret), refer to them (ExternalSecret), or permit it by the "
        f"annotation {PLAIN_SECRETS}: {PERMITTED} of the AppProject {project.metadata.name!r}"
    )


def _is_plain(manifest: Mapping[str, Any]) -> bool:
    if manifest.get("kind") != "Secret" or "/" in str(manifest.get("apiVersion", "v1")):
        return False
    values = [*_values(manifest.get("data")), *_values(manifest.get("stringData"))]
    return any(values)


def _values(block: object) -> Iterator[object]:
    """Yield the values that are not empty; a block that is no mapping is one value itself."""
    if isinstance(block, Mapping):
        yield from filter(None, block.values())
    elif block:
        yield block
