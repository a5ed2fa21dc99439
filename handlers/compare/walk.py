"""Walking a desired and a live value side by side, along what the live one's fields mean.

Desired is a *subset*: what the server or other managers added is no difference, unless our own
field set says that we once wrote it. Inside an atomic list nobody but us writes, so there what is
more counts, except known defaults. An empty value that the server dropped is no difference if it
was ours when we applied it; if nothing is known about that, it is a doubt.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from handlers.compare.change import ChangeKind, Difference, Path, Step, written
from handlers.compare.entries import Entries, entry_keys
from handlers.compare.fields import EVERYTHING, Fields, below, owned_members
from handlers.compare.quantity import same_quantity
from handlers.compare.shapes import PLAIN, Shape

_DEEPEST = 100
_CONTAINERS = (dict, list)


class Where(NamedTuple):
    """What is known of the place: its shape, what of it we own, and whether extras count."""

    shape: Shape
    owned: Fields | None
    exact: bool = False

    def field(self, name: str) -> Where:
        shape = self.shape.field(name) or PLAIN
        return Where(shape, below(self.owned, name), self.exact)

    def entry(self, owned: Fields | None) -> Where:
        return Where(self.shape.each or PLAIN, owned, self.exact)


class Walk:
    """Collects differences and doubts. `known`: the live object has a field set of ours."""

    def __init__(self, *, known: bool, drops_empty: bool) -> None:
        self._known = known
        self._drops_empty = drops_empty
        self.differences: list[Difference] = []
        self.doubts: list[str] = []

    def value(self, desired: Any, live: Any, path: Path, where: Where) -> None:
        if len(path) > _DEEPEST:
            self.doubts.append(f"{written(path[:3])}... is nested too deeply")
        elif _identical(desired, live):
            return
        elif isinstance(desired, dict) and isinstance(live, dict):
            self.record(desired, live, path, where)
        elif isinstance(desired, list) and isinstance(live, list):
            self._list(desired, live, path, where)
        elif not _same_scalar(desired, live, where.shape):
            self._changed(path, desired, live)

    def record(
        self, desired: dict[str, Any], live: dict[str, Any], path: Path, where: Where
    ) -> None:
        for key, wanted in desired.items():
            found = live.get(key)
            if wanted is None:
                continue
            if found is None:
                self._absent(wanted, (*path, key), below(where.owned, key))
            elif type(wanted) is not type(found) or type(wanted) in _CONTAINERS or wanted != found:
                self.value(wanted, found, (*path, key), where.field(key))
        if where.exact or where.owned:
            self._extra_fields(desired, live, path, where)

    def _absent(self, wanted: Any, path: Path, owned: Fields | None) -> None:
        """Desired and not there; `owned` is of the field itself.

        Built-in kinds keep no empty list, and nobody owns one.
        """
        if _is_empty(wanted) and (owned is not None or (wanted == [] and self._drops_empty)):
            return
        if _is_empty(wanted) and self._drops_empty and not self._known:
            self.doubts.append(written(path))
            return
        self._add(path, ChangeKind.MISSING, wanted, None)

    def _extra_fields(
        self, desired: dict[str, Any], live: dict[str, Any], path: Path, where: Where
    ) -> None:
        owned = where.owned or {}
        defaults = where.shape.defaults
        for key, found in live.items():
            if found is None or desired.get(key) is not None:
                continue
            ours = "f:" + key in owned
            added = where.exact and not _is_empty(found) and defaults.get(key) != found
            if added and key in where.shape.computed:
                self.doubts.append(written((*path, key)))
            elif ours or added:
                self._add((*path, key), ChangeKind.EXTRA, None, found)

    def _list(self, desired: list[Any], live: list[Any], path: Path, where: Where) -> None:
        if where.shape.is_set or owned_members(where.owned):
            self._set(desired, live, path, where)
            return
        keys = entry_keys(where.shape, where.owned)
        pair = Entries.pair(desired, live, keys, where) if keys else None
        if pair is None:
            self._atomic(desired, live, path, where)
        else:
            self._associative(pair, path, where)

    def _set(self, desired: list[Any], live: list[Any], path: Path, where: Where) -> None:
        for wanted in desired:
            if wanted not in live:
                self._add((*path, str(wanted)), ChangeKind.MISSING, wanted, None)
        for member in owned_members(where.owned):
            if member in live and member not in desired:
                self._add((*path, str(member)), ChangeKind.EXTRA, None, member)

    def _atomic(self, desired: list[Any], live: list[Any], path: Path, where: Where) -> None:
        if len(desired) != len(live):
            self._changed(path, desired, live)
            return
        owned = EVERYTHING if self._known else None
        inside = Where(where.shape.each or PLAIN, owned, exact=True)
        for index, (wanted, found) in enumerate(zip(desired, live, strict=True)):
            self.value(wanted, found, (*path, index), inside)

    def _associative(self, entries: Entries, path: Path, where: Where) -> None:
        for key, wanted in entries.desired.items():
            found = entries.live.get(key)
            if found is None:
                self._add((*path, key), ChangeKind.MISSING, wanted, None)
            else:
                self.value(wanted, found, (*path, key), where.entry(entries.owned_of(key)))
        for key in entries.extra(exact=where.exact):
            self._add((*path, key), ChangeKind.EXTRA, None, entries.live[key])
        order = entries.order()
        if order is not None:
            self._changed(path, *order)

    def _changed(self, path: Path, desired: Any, live: Any) -> None:
        self._add(path, ChangeKind.CHANGED, desired, live)

    def _add(self, path: tuple[Step, ...], kind: ChangeKind, desired: Any, live: Any) -> None:
        found = Difference(path=written(path), kind=kind, desired=desired, live=live)
        self.differences.append(found)


def _same_scalar(desired: Any, live: Any, shape: Shape) -> bool:
    """Python takes True for 1; the API does not."""
    if desired == live:
        return isinstance(desired, bool) == isinstance(live, bool)
    return shape.quantity and same_quantity(desired, live)


def _identical(desired: Any, live: Any) -> bool:
    """The short way for what is equal throughout; the second look tells True from 1."""
    return bool(desired == live) and _encoded(desired) == _encoded(live)


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _is_empty(value: Any) -> bool:
    """What `omitempty` leaves out, also inside: `{}`, `[]`, "", 0, false, null."""
    if isinstance(value, dict):
        return all(_is_empty(each) for each in value.values())
    return not value
