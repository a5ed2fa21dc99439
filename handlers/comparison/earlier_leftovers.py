"""Leftovers: fields that an earlier tool wrote into a live object and that Git does not have. Pure.

The server's dry run cannot show them, because an apply removes only what our own manager owns. So
they are found in the tool's field set alone (see `earlier_managers`), and the next sync, which
takes the fields over first, removes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from handlers.comparison.earlier_managers import ITSELF, Fields
from handlers.comparison.list_entries import index_of
from handlers.comparison.normalised_objects import normalise, without_aggregated_rules
from handlers.comparison.object_difference import ChangeKind, FieldDifference, Path, masked, written
from handlers.comparison.shapes import PLAIN, Shape
from handlers.comparison.shapes_kinds import shape_of
from handlers.manifest.access import Manifest, is_secret
from handlers.manifest.kinds import GroupKind

_NOT_COMPARED = frozenset({"f:apiVersion", "f:kind", "f:status"})


def left_over(desired: Manifest, live: Manifest, inherited: Fields) -> tuple[FieldDifference, ...]:
    """List the fields of `inherited` that are in the cluster and not in Git."""
    if not inherited:
        return ()
    fields = {token: below for token, below in inherited.items() if token not in _NOT_COMPARED}
    sides = (normalise(desired), without_aggregated_rules(live))
    found = tuple(_left(fields, *sides, shape_of(GroupKind.of(desired)), ()))
    return masked(found) if is_secret(desired) else found


def _left(
    fields: Fields, desired: Any, live: Any, shape: Shape, path: Path
) -> Iterator[FieldDifference]:
    for token, below in fields.items():
        if token == ITSELF:
            continue
        match token[:2]:
            case "f:":  # a field
                yield from _field(token[2:], below, (desired, live), (shape, path))
            case "k:":  # an entry of an associative list
                yield from _entry(token[2:], below, (desired, live), (shape, path))
            case "v:":  # a member of a set
                yield from _member(token[2:], desired, live, path)


def _field(
    name: str, below: Fields, sides: tuple[Any, Any], place: tuple[Shape, Path]
) -> Iterator[FieldDifference]:
    (shape, path), (desired, live) = place, (_get(sides[0], name), _get(sides[1], name))
    if live is None or (desired is None and shape.defaults.get(name) == live):
        return
    yield from _below(below, desired, live, (shape.field(name) or PLAIN, (*path, name)))


def _entry(
    keys: str, below: Fields, sides: tuple[Any, Any], place: tuple[Shape, Path]
) -> Iterator[FieldDifference]:
    """An entry of an associative list, found by its merge keys."""
    (shape, path), key = place, tuple(sorted(msgspec.json.decode(keys).items()))
    names, each = tuple(name for name, _ in key), shape.each or PLAIN
    desired, live = (
        (index_of(side, names, each) if isinstance(side, list) else None) or {} for side in sides
    )
    if key in live:
        yield from _below(below, desired.get(key), live[key], (each, (*path, key)))


def _member(word: str, desired: Any, live: Any, path: Path) -> Iterator[FieldDifference]:
    member = msgspec.json.decode(word)
    if isinstance(live, list) and member in live and member not in (desired or ()):
        yield _extra((*path, str(member)), member)


def _below(
    below: Fields, desired: Any, live: Any, place: tuple[Shape, Path]
) -> Iterator[FieldDifference]:
    """Report the whole value where Git has nothing of it and the tool owns all; else go on below.

    An entry of a list goes as a whole: without its merge keys there is no entry.
    """
    shape, path = place
    if desired is None and (not below or isinstance(path[-1], tuple)):
        yield _extra(path, live)
        return
    yield from _left(below, desired, live, shape, path)


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _extra(path: Path, live: Any) -> FieldDifference:
    return FieldDifference(path=written(path), kind=ChangeKind.EXTRA, live=live)
