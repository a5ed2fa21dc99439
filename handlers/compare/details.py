"""What a fact says of drifted objects: which fields differ, and who wrote last. Never a value.

A fact stays small (house.md: 8 KiB), so paths are cut, and objects that do not fit are left out;
their names stand beside the details in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bus.events.facts import DriftedObject
from handlers.compare.world import Pair

NAMED = 10
_FIELDS = 5
_PATH = 120
_BYTES = 3072


def details(pairs: Iterable[Pair]) -> tuple[DriftedObject, ...]:
    """Of the first ten, as many as fit."""
    return tuple(_fitting(_detail(pair) for pair, _ in zip(pairs, range(NAMED), strict=False)))


def _detail(pair: Pair) -> DriftedObject:
    paths = (one.path[:_PATH] for one in pair.said.differences[:_FIELDS] if one.path)
    writer = pair.live.written_by if pair.live is not None else ""
    return DriftedObject(object=str(pair.key), fields=tuple(paths), manager=writer)


def _fitting(found: Iterable[DriftedObject]) -> Iterator[DriftedObject]:
    left = _BYTES
    for one in found:
        left -= len(msgspec.json.encode(one))
        if left < 0:
            return
        yield one
