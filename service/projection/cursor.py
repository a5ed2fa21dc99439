"""Which items of a batch are new, and whether one before them is missing. Pure.

The cursor is the sequence of the last item applied. Items stand in a chain: `before` names the one
in front. A merged state leaves a hole in the sequences and none in the chain.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from bus.link import Item


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    fresh: tuple[Item, ...]
    cursor: int
    gap: bool
    """Something between the cursor and the next item has not arrived."""


def take(cursor: int, items: Sequence[Item]) -> Taken:
    """Duplicates are left out; what stands behind a gap is too, and is sent again."""
    fresh: list[Item] = []
    for item in items:
        if item.sequence <= cursor:
            continue
        if item.before > cursor:
            return Taken(fresh=tuple(fresh), cursor=cursor, gap=True)
        fresh.append(item)
        cursor = item.sequence
    return Taken(fresh=tuple(fresh), cursor=cursor, gap=False)
