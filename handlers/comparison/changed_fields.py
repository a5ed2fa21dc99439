"""The paths at which two versions of one live object differ, without values. Pure.

Status and what the server keeps for itself are left out. Entries of a list are paired by the merge
keys of the built-in kinds; any other list that has grown or shrunk is one path.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from handlers.comparison.list_entries import index_of
from handlers.comparison.object_diff import comparable
from handlers.comparison.object_difference import Path, written
from handlers.comparison.shapes import PLAIN, Shape
from handlers.comparison.shapes_kinds import shape_of
from handlers.manifest.access import Manifest
from handlers.manifest.kinds import GroupKind

_DEEPEST = 100


def changed_fields(before: Manifest, after: Manifest, *, most: int) -> tuple[str, ...]:
    """List at most `most` paths."""
    shape = shape_of(GroupKind.of(after))
    found = _differing(dict(comparable(before)), dict(comparable(after)), (), shape)
    return tuple(written(path) for path in islice(found, most))


def _differing(before: Any, after: Any, path: Path, shape: Shape) -> Iterator[Path]:
    if before == after:
        return
    if len(path) >= _DEEPEST:
        yield path
    elif isinstance(before, dict) and isinstance(after, dict):
        for name in before | after:
            inner = shape.field(name) or PLAIN
            yield from _differing(before.get(name), after.get(name), (*path, name), inner)
    elif isinstance(before, list) and isinstance(after, list):
        yield from _in_lists(before, after, path, shape)
    else:
        yield path


def _in_lists(before: list[Any], after: list[Any], path: Path, shape: Shape) -> Iterator[Path]:
    each = shape.each or PLAIN
    left = index_of(before, shape.keys, each) if shape.keys else None
    right = index_of(after, shape.keys, each) if shape.keys else None
    if left is not None and right is not None:
        for key in left | right:
            yield from _differing(left.get(key), right.get(key), (*path, key), each)
        if list(left) != list(right) and left.keys() == right.keys():
            yield path
    elif len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _differing(one, other, (*path, index), each)
    else:
        yield path
