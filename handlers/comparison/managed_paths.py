"""Managed paths: where the fields of a field manager stand in both sides of a pair. Pure.

A field set (FieldsV1) names entries of lists by their merge keys, so the same entry may stand at
another index in each side. Merge keys themselves stay, because entries are paired by them. An entry
or a member that only one side has goes as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from handlers.comparison.earlier_managers import ITSELF, Fields
from handlers.comparison.ignored_fields import FieldPath
from handlers.comparison.object_difference import Path, Step
from handlers.comparison.owned_fields import EVERYTHING
from handlers.comparison.shapes import PLAIN, Shape
from handlers.comparison.shapes_kinds import shape_of
from handlers.manifest.access import Manifest
from handlers.manifest.kinds import GroupKind


def managed_paths(
    fields: Fields, desired: Manifest, live: Manifest
) -> tuple[tuple[FieldPath, ...], tuple[FieldPath, ...]]:
    """List the places of `fields` in the desired and in the live object."""
    shape = shape_of(GroupKind.of(live))
    left = _below(fields, _Place(desired, live, shape, ()))
    right = _below(fields, _Place(live, desired, shape, ()))
    return tuple(left), tuple(right)


def taken_paths(
    theirs: Fields, ours: Fields, desired: Manifest, live: Manifest
) -> tuple[Path, ...]:
    """List the fields of both sides that differ and that are theirs alone: taken from us.

    A server-side apply without force is refused because of them. What both managers own has the
    same value for the server, however differently it is written in Git.
    """
    place = _Place(desired, live, shape_of(GroupKind.of(live)), ())
    return tuple(_taken(theirs, ours, place, ()))


def _taken(theirs: Fields, ours: Fields, here: _Place, path: Path) -> Iterator[Path]:
    for token, inner in theirs.items():
        owned = ours.get(token)
        if token[:2] not in ("f:", "k:") or owned == EVERYTHING:
            continue
        step, place = _step(token, here)
        if place.value is None or place.other is None or place.value == place.other:
            continue
        if inner:
            yield from _taken(inner, owned or {}, place, (*path, step))
        elif owned is None:
            yield (*path, step)


def _step(token: str, here: _Place) -> tuple[Step, _Place]:
    """Go to a field or an entry; None stands for a side that lacks it."""
    if token.startswith("f:"):
        name = token[2:]
        left, right = (_value(side, name) for side in (here.value, here.other))
        return name, _Place(left, right, here.shape.field(name) or PLAIN, ())
    keys, each = msgspec.json.decode(token[2:]), here.shape.each or PLAIN
    indexes = (_found(side, keys, each) for side in (here.value, here.other))
    left, right = (
        side[index] if index is not None else None
        for side, index in zip((here.value, here.other), indexes, strict=True)
    )
    return tuple(sorted(keys.items())), _Place(left, right, each, ())


def _value(side: Any, name: str) -> Any:
    return side.get(name) if isinstance(side, Mapping) else None


class _Place(NamedTuple):
    value: Any
    other: Any
    """The same place in the other side."""
    shape: Shape
    path: FieldPath


def _below(fields: Fields, here: _Place, keys: frozenset[str] = frozenset()) -> Iterator[FieldPath]:
    """`keys` are the merge keys of the entry that `here` is."""
    for token, inner in fields.items():
        match token[:2]:
            case "f:" if token[2:] not in keys:
                yield from _field(token[2:], inner, here)
            case "k:":
                yield from _entry(msgspec.json.decode(token[2:]), inner, here)
            case "v:":
                yield from _member(msgspec.json.decode(token[2:]), here)


def _field(name: str, inner: Fields, here: _Place) -> Iterator[FieldPath]:
    if not isinstance(here.value, Mapping) or name not in here.value:
        return
    if not inner:
        yield (*here.path, name)
        return
    other = here.other.get(name) if isinstance(here.other, Mapping) else None
    shape = here.shape.field(name) or PLAIN
    yield from _below(inner, _Place(here.value[name], other, shape, (*here.path, name)))


def _entry(keys: Mapping[str, Any], inner: Fields, here: _Place) -> Iterator[FieldPath]:
    each = here.shape.each or PLAIN
    index, other = _found(here.value, keys, each), _found(here.other, keys, each)
    if index is None:
        return
    path = (*here.path, index)
    if not inner or (other is None and ITSELF in inner):
        yield path
        return
    counterpart = here.other[other] if other is not None else None
    yield from _below(inner, _Place(here.value[index], counterpart, each, path), frozenset(keys))


def _member(member: Any, here: _Place) -> Iterator[FieldPath]:
    if isinstance(here.value, list) and member in here.value:
        yield (*here.path, here.value.index(member))


def _found(entries: Any, keys: Mapping[str, Any], each: Shape) -> int | None:
    """Find the index of the entry with these merge keys, defaults filled in."""
    if not isinstance(entries, list):
        return None
    for index, entry in enumerate(entries):
        if isinstance(entry, Mapping) and all(
            entry.get(name, each.defaults.get(name)) == value for name, value in keys.items()
        ):
            return index
    return None
