"""ListEntries: two associative lists, their entries paired by merge keys. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from handlers.comparison.owned_fields import Fields, owned_entries
from handlers.comparison.shapes import PLAIN, Shape

EntryKey = tuple[tuple[str, Any], ...]


class ListContext(Protocol):
    """What is known of the list; see `value_walk.FieldContext`."""

    @property
    def shape(self) -> Shape: ...
    @property
    def owned(self) -> Fields | None: ...


def entry_keys(shape: Shape, owned: Fields | None) -> tuple[str, ...]:
    """Find the merge keys: of the shape, else of our own field set; empty for an atomic list."""
    if shape.keys:
        return shape.keys
    token = next((token for token in owned or {} if token.startswith("k:")), None)
    return tuple(msgspec.json.decode(token[2:], type=dict[str, Any])) if token else ()


@dataclass(frozen=True, slots=True)
class ListEntries:
    desired: dict[EntryKey, Any]
    live: dict[EntryKey, Any]
    owned: dict[EntryKey, Fields]
    below: Fields | None

    @classmethod
    def pair(
        cls, desired: list[Any], live: list[Any], keys: tuple[str, ...], context: ListContext
    ) -> ListEntries | None:
        """Pair the entries; None where keys lack or repeat: then the list is atomic."""
        each = context.shape.each or PLAIN
        left, right = index_of(desired, keys, each), index_of(live, keys, each)
        if left is None or right is None:
            return None
        return cls(left, right, owned_entries(context.owned), context.owned)

    def owned_of(self, key: EntryKey) -> Fields | None:
        """What we own of an entry; nothing known of the list is nothing known of its entries."""
        return self.owned.get(key) if self.below else self.below

    def extra(self, *, exact: bool) -> Iterator[EntryKey]:
        """Yield live entries that Git does not have: ours, or any inside an atomic list."""
        for key in self.live:
            if key not in self.desired and (exact or key in self.owned):
                yield key

    def order(self) -> tuple[list[str], list[str]] | None:
        """Both orders of the common entries, if they differ: in env and containers order counts."""
        desired = [key for key in self.desired if key in self.live]
        live = [key for key in self.live if key in self.desired]
        return None if desired == live else (_names(desired), _names(live))


def index_of(entries: list[Any], keys: tuple[str, ...], each: Shape) -> dict[EntryKey, Any] | None:
    """Index entries by their merge keys, defaults filled in; None where keys lack or repeat."""
    index: dict[EntryKey, Any] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            return None
        key = tuple(sorted((name, entry.get(name, each.defaults.get(name))) for name in keys))
        if key in index or any(isinstance(value, dict | list | None) for _, value in key):
            return None
        index[key] = entry
    return index


def _names(keys: list[EntryKey]) -> list[str]:
    return ["/".join(str(value) for _, value in key) for key in keys]
