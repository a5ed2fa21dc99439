"""Respected fields: what is applied where a sync must not overwrite ignored fields. Pure.

With `RespectIgnoreDifferences` an object that is in the cluster is applied without its ignored
fields, so that other managers keep them. A server-side apply removes what its manager owned and
leaves out, so an ignored field that is ours is sent with the value that the cluster has:

    ignored field    in the cluster    sent
    ours             yes               the live value: leaving it out would remove it
    of others        yes               nothing: its owner keeps it, and we do not own it with him
    in Git only      no                nothing: somebody has removed it
    in Git only      nor what holds    Git's value: a new entry of a list, with its required fields
                     it

Inside an atomic list nobody owns a single field, because an apply writes the list as a whole: the
live values of ignored fields are sent with it. An entry is paired with the live entry of the same
index, or, where entries came or went, with one that has the same name or the same other fields. An
object that is replaced (`Replace=true`) is written as a whole too. What says whose object it is
(name, namespace, tracking) is always sent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from handlers.comparison.earlier_managers import ITSELF, union
from handlers.comparison.ignored_fields import IgnoredFields, PathTree, path_tree, trimmed
from handlers.comparison.list_entries import EntryKey, entry_keys, index_of
from handlers.comparison.normalised_objects import IDENTITY, sent
from handlers.comparison.owned_fields import (
    Fields,
    below,
    field_set,
    owned_entries,
    owned_members,
)
from handlers.comparison.shapes import PLAIN
from handlers.comparison.shapes_kinds import shape_of
from handlers.comparison.value_walk import FieldContext
from handlers.manifest.access import Manifest, annotation, mapping
from handlers.manifest.kinds import GroupKind
from handlers.manifest.tracking import TRACKING_ID
from handlers.ports import LiveObject

_KEPT: PathTree = {}
_NOTHING = msgspec.UNSET


class IgnoredSides(NamedTuple):
    """One place in both sides, and what is ignored below it in each."""

    desired: Any
    live: Any
    of_desired: PathTree
    of_live: PathTree

    def below(self, step: str | int, other: str | int) -> IgnoredSides:
        """Go to an entry, which may have another index in the live object."""
        inner, ignored = self.desired[step], self.of_desired.get(step) or _KEPT
        return IgnoredSides(inner, self.live[other], ignored, self.of_live.get(other) or _KEPT)


def respected(
    desired: Manifest, live: LiveObject, ignored: IgnoredFields, *, replaces: bool = False
) -> Manifest:
    """Return what to apply; `replaces`: it is written as a whole, whoever owns what."""
    owned = union(field_set(live.owned), field_set(live.inherited))
    written, there = sent(desired), live.manifest
    context = FieldContext(shape_of(GroupKind.of(desired)), owned or None, exact=replaces)
    sides = IgnoredSides(written, there, path_tree(ignored.desired), path_tree(ignored.live))
    return _with_identity(_record(sides, context), written)


def _with_identity(merged: dict[str, Any], desired: Manifest) -> dict[str, Any]:
    metadata = {**mapping(merged, "metadata")}
    own = mapping(desired, "metadata")
    metadata |= {name: own[name] for name in IDENTITY if name in own}
    if tracking := annotation(desired, TRACKING_ID):
        metadata["annotations"] = {**mapping(metadata, "annotations"), TRACKING_ID: tracking}
    whole = {**merged, "metadata": metadata}
    whole |= {name: desired[name] for name in ("apiVersion", "kind") if name in desired}
    if "status" not in desired:
        whole.pop("status", None)
    return whole


def _merged(sides: IgnoredSides, context: FieldContext) -> Any:
    if not sides.of_desired and not sides.of_live:
        return sides.desired
    if isinstance(sides.desired, Mapping) and isinstance(sides.live, Mapping):
        return _record(sides, context)
    if isinstance(sides.desired, list) and isinstance(sides.live, list):
        return _list(sides, context)
    return sides.desired


def _record(sides: IgnoredSides, context: FieldContext) -> dict[str, Any]:
    desired, live = sides.desired, sides.live
    whole = {
        name
        for tree in (sides.of_desired, sides.of_live)
        for name, below_it in tree.items()
        if below_it is None
    }
    merged: dict[str, Any] = {}
    for name, value in desired.items():
        if name in whole:
            continue
        part = _merged(sides.below(name, name), context.field(name)) if name in live else value
        # What had nothing but ignored fields is left out with them.
        if part not in ({}, []) or not value:
            merged[name] = part
    for name, value in live.items():
        if name in whole:
            part = value if context.exact else _owned_part(value, below(context.owned, name))
        elif name not in desired and sides.of_live.get(name):
            empty = IgnoredSides(type(value)(), value, _KEPT, sides.of_live[name] or _KEPT)
            part = _merged(empty, context.field(name)) or _NOTHING
        else:
            continue
        if part is not _NOTHING:
            merged[name] = part
    return merged


def _list(sides: IgnoredSides, context: FieldContext) -> list[Any]:
    if not context.exact:
        if context.shape.is_set or owned_members(context.owned):
            return _set(sides, context)
        keys, each = entry_keys(context.shape, context.owned), context.shape.each or PLAIN
        left = index_of(sides.desired, keys, each) if keys else None
        right = index_of(sides.live, keys, each) if keys else None
        if left is not None and right is not None:
            return list(_associative(sides, context, (tuple(left), tuple(right))))
    return _atomic(sides, FieldContext(context.shape.each or PLAIN, None, exact=True))


def _set(sides: IgnoredSides, context: FieldContext) -> list[Any]:
    kept = [
        one for i, one in enumerate(sides.desired) if sides.of_desired.get(i, _KEPT) is not None
    ]
    mine = owned_members(context.owned)
    live = (one for i, one in enumerate(sides.live) if sides.of_live.get(i, _KEPT) is None)
    return [*kept, *(one for one in live if one in mine and one not in kept)]


def _associative(
    sides: IgnoredSides, context: FieldContext, keys: tuple[tuple[EntryKey, ...], ...]
) -> Iterator[Any]:
    """Merge entries with the same merge keys, which are always sent."""
    (left, right), owned = keys, owned_entries(context.owned)
    everything = context.owned == {}
    for index, (key, entry) in enumerate(zip(left, sides.desired, strict=True)):
        other = right.index(key) if key in right else None
        if sides.of_desired.get(index, _KEPT) is None:
            continue
        if other is None:
            yield entry
        elif sides.of_live.get(other, _KEPT) is not None:
            inner = context.entry({} if everything else owned.get(key))
            named = {name: entry[name] for name, _ in key if name in entry}
            yield {**_merged(sides.below(index, other), inner), **named}
    for other, (key, entry) in enumerate(zip(right, sides.live, strict=True)):
        if sides.of_live.get(other, _KEPT) is None:
            part = _owned_part(entry, {} if everything else owned.get(key))
            if part is not _NOTHING:
                yield {**part, **{name: entry[name] for name, _ in key if name in entry}}


def _atomic(sides: IgnoredSides, inside: FieldContext) -> list[Any]:
    """Merge entries by their places; live entries that are ignored as a whole stay in theirs."""
    left = [i for i in range(len(sides.desired)) if sides.of_desired.get(i, _KEPT) is not None]
    right = [j for j in range(len(sides.live)) if sides.of_live.get(j, _KEPT) is not None]
    merged = []
    for position, index in enumerate(left):
        if len(left) == len(right):
            other: int | None = right[position]
        else:
            other = next((j for j in right if _alike(sides.below(index, j))), None)
        whole = sides.desired[index]
        merged.append(whole if other is None else _merged(sides.below(index, other), inside))
    for j, entry in enumerate(sides.live):
        if sides.of_live.get(j, _KEPT) is None:
            merged.insert(j, entry)
    return merged


def _alike(entry: IgnoredSides) -> bool:
    """Whether two entries are the same one: by name, or by all that is not ignored."""
    desired, live = entry.desired, entry.live
    if isinstance(desired, Mapping) and isinstance(live, Mapping) and "name" in desired:
        return bool(desired["name"] == live.get("name"))
    return bool(trimmed(desired, entry.of_desired) == trimmed(live, entry.of_live))


def _owned_part(value: Any, owned: Fields | None) -> Any:
    """Take what we own of a live value; UNSET for nothing."""
    if owned is None:
        return _NOTHING
    if not owned or not isinstance(value, dict | list):
        return value
    if isinstance(value, dict):
        parts = ((name, _owned_part(inner, below(owned, name))) for name, inner in value.items())
        found = {name: part for name, part in parts if part is not _NOTHING}
        return found if found or ITSELF in owned else _NOTHING
    members = owned_members(owned)
    return [
        *(one for one in value if one in members),
        *_owned_entries(value, owned_entries(owned)),
    ] or _NOTHING


def _owned_entries(value: list[Any], owned: Mapping[EntryKey, Fields]) -> Iterator[Any]:
    for key, inner in owned.items():
        for entry in value:
            if isinstance(entry, dict) and all(entry.get(name) == of for name, of in key):
                part = _owned_part(entry, inner)
                if part is not _NOTHING:
                    yield {**part, **dict(key)}
