"""The fields that we own in a live object: how a field removed from Git is seen.

The server keeps for every manager the set of fields it applied (`managedFields`, FieldsV1): a tree
of `f:name` (field), `k:{...}` (entry of an associative list by its keys), `v:value` (member of a
set) and `.` (the thing itself). A leaf owns all that is below. Only our own manager's is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from handlers.manifest.access import Manifest, items, mapping

MANAGER = "argocd-controller"

Fields = Mapping[str, Any]
EVERYTHING: Final[Fields] = {}
"""A leaf: owned with all that is below."""


def owned_fields(live: Manifest, manager: str = MANAGER) -> Fields | None:
    """Our field set; None where we never applied the object, so that nothing is known."""
    for entry in items(live, "metadata", "managedFields"):
        if entry.get("manager") == manager and entry.get("operation") == "Apply":
            return mapping(entry, "fieldsV1")
    return None


def parse_fields(owned: bytes) -> Fields | None:
    """The field set as the index of live objects keeps it; empty: we never applied the object."""
    return field_set(owned) if owned else None


def field_set(encoded: bytes) -> Fields:
    """FieldsV1 as JSON; empty: no field."""
    fields: Fields = msgspec.json.decode(encoded, type=dict[str, Any]) if encoded else {}
    return fields


def below(owned: Fields | None, field: str) -> Fields | None:
    """What is owned of `field`; None where nothing is, or nothing is known."""
    if not owned:
        return owned
    found = owned.get("f:" + field)
    return found if isinstance(found, Mapping) else None


def owned_entries(owned: Fields | None) -> dict[tuple[tuple[str, Any], ...], Fields]:
    """The entries of an associative list that we own, by their sorted keys and values."""
    entries: dict[tuple[tuple[str, Any], ...], Fields] = {}
    for token, below_it in (owned or {}).items():
        if token.startswith("k:"):
            keys = msgspec.json.decode(token[2:])
            entries[tuple(sorted(keys.items()))] = below_it
    return entries


def owned_members(owned: Fields | None) -> list[Any]:
    """The members of a set that we own."""
    tokens = (token for token in owned or {} if token.startswith("v:"))
    return [msgspec.json.decode(token[2:]) for token in tokens]
