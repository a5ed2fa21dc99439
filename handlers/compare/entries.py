"""The entries of an associative list by their merge keys: paired, owned, and in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from handlers.compare.fields import Fields, owned_entries
from handlers.compare.shapes import PLAIN, Shape

EntryKey = tuple[tuple[str, Any], ...]


class Place(Protocol):
    """Where the list stands; see `walk.Where`."""

    @property
    def shape(self) -> Shape: ...
    @property
    def owned(self) -> Fields | None: ...


def entry_keys(shape: Shape, owned: Fields | None) -> tuple[str, ...]:
    """The merge keys: of the shape, else as our own field set spells them; none: atomic."""
    if shape.keys:
        return shape.keys
    token = next((token for token in owned or {} if token.startswith("k:")), None)
    return tuple(msgspec.json.decode(token[2:], type=dict[str, Any])) if token else ()


@dataclass(frozen=True, slots=True)
class Entries:
    desired: dict[EntryKey, Any]
    live: dict[EntryKey, Any]
    owned: dict[EntryKey, Fields]
    below: Fields | None

    @classmethod
    def pair(
        cls, desired: list[Any], live: list[Any], keys: tuple[str, ...], place: Place
    ) -> Entries | None:
        """None where entries lack their keys or repeat them: the list is compared as a whole."""
        each = place.shape.each or PLAIN
        left, right = index_of(desired, keys, each), index_of(live, keys, each)
        if left is None or right is None:
            return None
        return cls(left, right, owned_entries(place.owned), place.owned)

    def owned_of(self, key: EntryKey) -> Fields | None:
        return self.owned.get(key) if self.below else self.below

    def extra(self, *, exact: bool) -> Iterator[EntryKey]:
        """Live entries that Git no longer has: ours, or any where nobody else may add."""
        for key in self.live:
            if key not in self.desired and (exact or key in self.owned):
                yield key

    def order(self) -> tuple[list[str], list[str]] | None:
        """Both orders of the common entries, if they differ: in env and containers order counts."""
        wanted = [key for key in self.desired if key in self.live]
        found = [key for key in self.live if key in self.desired]
        return None if wanted == found else (_names(wanted), _names(found))


def index_of(entries: list[Any], keys: tuple[str, ...], each: Shape) -> dict[EntryKey, Any] | None:
    found: dict[EntryKey, Any] = {}
    for entry in entries:
        if not isinstance(entry, dict):
            return None
        key = tuple(sorted((name, entry.get(name, each.defaults.get(name))) for name in keys))
        if key in found or any(isinstance(value, dict | list | None) for _, value in key):
            return None
        found[key] = entry
    return found


def _names(keys: list[EntryKey]) -> list[str]:
    return ["/".join(str(value) for _, value in key) for key in keys]
