"""The fields of a live object that one manager owns: they show a field that was removed from Git.

The server keeps for every manager the set of fields that it applied (`metadata.managedFields`, in
FieldsV1): a tree of `f:name` (field), `k:{...}` (entry of an associative list by its merge keys),
`v:value` (member of a set) and `.` (the thing itself). A leaf owns all that is below it.

Three states of what we own are told apart, and the comparison treats them differently:

    None          we never applied the object: nothing is known about any field
    {} at a leaf  `EVERYTHING`: the field is ours with all that is below it
    {...}         some fields below are ours, the others are somebody else's
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from handlers.manifest.access import Manifest, items, mapping

MANAGER = "argocd-controller"
"""Our field manager has Argo CD's name, so objects that Argo CD applied are ours from the start."""

Fields = Mapping[str, Any]
EVERYTHING: Final[Fields] = {}
"""A leaf: owned with all that is below."""


def owned_fields(live: Manifest, manager: str = MANAGER) -> Fields | None:
    """Find the field set that `manager` applied; None where it never applied the object."""
    for entry in items(live, "metadata", "managedFields"):
        # An `Update` entry of the same manager is a set of its own: only applies prune fields.
        if entry.get("manager") == manager and entry.get("operation") == "Apply":
            return mapping(entry, "fieldsV1")
    return None


def parse_fields(owned: bytes) -> Fields | None:
    """Decode the field set as the index keeps it; empty: we never applied the object."""
    return field_set(owned) if owned else None


def field_set(encoded: bytes) -> Fields:
    """Decode FieldsV1 from JSON; empty: no field."""
    fields: Fields = msgspec.json.decode(encoded, type=dict[str, Any]) if encoded else {}
    return fields


def below(owned: Fields | None, field: str) -> Fields | None:
    """The part of `owned` below `field`; None where nothing is owned, or nothing is known."""
    if not owned:
        # None stays None (nothing is known); a leaf stays a leaf (all below it is ours).
        return owned
    inner = owned.get("f:" + field)
    return inner if isinstance(inner, Mapping) else None


def owned_entries(owned: Fields | None) -> dict[tuple[tuple[str, Any], ...], Fields]:
    """The entries of an associative list that we own, by their sorted merge keys and values."""
    entries: dict[tuple[tuple[str, Any], ...], Fields] = {}
    for token, inner in (owned or {}).items():
        if token.startswith("k:"):
            keys = msgspec.json.decode(token[2:])
            entries[tuple(sorted(keys.items()))] = inner
    return entries


def owned_members(owned: Fields | None) -> list[Any]:
    """The members of a set that we own."""
    tokens = (token for token in owned or {} if token.startswith("v:"))
    return [msgspec.json.decode(token[2:]) for token in tokens]
