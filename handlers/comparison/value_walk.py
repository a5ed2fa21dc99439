"""ValueWalk compares a desired and a live value side by side, along what their fields mean.

Desired is a *subset* of live: what the server or other managers added is no difference. The cases:

    desired   live      ours in live   verdict
    value     equal     -              same
    value     other     -              changed
    value     absent    -              missing; an empty value may be one that the server dropped
    absent    value     yes            extra: we applied the field once, and Git dropped it
    absent    value     no             same: somebody else's field
    absent    value     atomic list    extra, but for the server's known defaults

"Ours" is what our own field manager owns (`owned_fields`). Inside an atomic list nobody but us can
write, so there every field counts (`FieldContext.exact`). What cannot be decided without the server
is a doubt: the caller asks by a dry run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from handlers.comparison.list_entries import ListEntries, entry_keys
from handlers.comparison.object_difference import ChangeKind, FieldDifference, Path, Step, written
from handlers.comparison.owned_fields import EVERYTHING, Fields, below, owned_members
from handlers.comparison.quantity import same_duration, same_quantity
from handlers.comparison.shapes import PLAIN, Shape

_DEEPEST = 100
_CONTAINERS = (dict, list)


class FieldContext(NamedTuple):
    """What is known of a field: its shape, what of it we own, and whether every extra counts."""

    shape: Shape
    owned: Fields | None
    exact: bool = False

    def field(self, name: str) -> FieldContext:
        shape = self.shape.field(name) or PLAIN
        return FieldContext(shape, below(self.owned, name), self.exact)

    def entry(self, owned: Fields | None) -> FieldContext:
        return FieldContext(self.shape.each or PLAIN, owned, self.exact)


class ValueWalk:
    """Collects the differences and doubts of one object.

    `known`: the live object has a field set of ours. `drops_empty`: the server of this kind drops
    empty values on writing, as those of the built-in kinds do.
    """

    def __init__(self, *, known: bool, drops_empty: bool) -> None:
        self._known = known
        self._drops_empty = drops_empty
        self.differences: list[FieldDifference] = []
        self.doubts: list[str] = []

    def value(self, desired: Any, live: Any, path: Path, context: FieldContext) -> None:
        if len(path) > _DEEPEST:
            self.doubts.append(f"{written(path[:3])}... is nested too deeply")
        elif _identical(desired, live):
            return
        elif isinstance(desired, dict) and isinstance(live, dict):
            self.record(desired, live, path, context)
        elif isinstance(desired, list) and isinstance(live, list):
            self._list(desired, live, path, context)
        elif not _same_scalar(desired, live, context.shape):
            self._changed(path, desired, live)

    def record(
        self, desired: dict[str, Any], live: dict[str, Any], path: Path, context: FieldContext
    ) -> None:
        for key, value in desired.items():
            other = live.get(key)
            if value is None:  # null in a manifest says nothing, as in a merge
                continue
            if other is None:
                self._absent(value, (*path, key), below(context.owned, key))
            # Equal scalars of one type, the most frequent case by far, cost no further call.
            elif type(value) is not type(other) or type(value) in _CONTAINERS or value != other:
                self.value(value, other, (*path, key), context.field(key))
        if context.exact or context.owned:
            self._extra_fields(desired, live, path, context)

    def _absent(self, desired: Any, path: Path, owned: Fields | None) -> None:
        """Judge a desired field that is not in the cluster; `owned` is of the field itself.

        A value that is not empty is missing. For an empty one (`{}`, `[]`, ""):

            we own the field          the server took it and dropped it on storing: same
            an empty list, dropped    same: nobody ever owns an empty list of a built-in kind
            dropped, nothing known    we never applied the object: a doubt
            otherwise                 the field was added to Git since our last apply: missing
        """
        if _is_empty(desired) and (owned is not None or (desired == [] and self._drops_empty)):
            return
        if _is_empty(desired) and self._drops_empty and not self._known:
            self.doubts.append(written(path))
            return
        self._add(path, ChangeKind.MISSING, desired, None)

    def _extra_fields(
        self, desired: dict[str, Any], live: dict[str, Any], path: Path, context: FieldContext
    ) -> None:
        """Judge the fields that are in the cluster only."""
        owned = context.owned or {}
        defaults = context.shape.defaults
        for key, value in live.items():
            if value is None or desired.get(key) is not None:
                continue
            ours = "f:" + key in owned
            added = context.exact and not _is_empty(value) and defaults.get(key) != value
            # A computed field may be the server's doing although Git dropped an input of it.
            if added and key in context.shape.computed:
                self.doubts.append(written((*path, key)))
            elif ours or added:
                self._add((*path, key), ChangeKind.EXTRA, None, value)

    def _list(self, desired: list[Any], live: list[Any], path: Path, context: FieldContext) -> None:
        """Choose how the server would merge the list: as a set, by merge keys, or as a whole.

        The shape says so for built-in kinds. For custom resources our own field set does: the
        server writes `v:` tokens for sets and `k:` tokens for entries with merge keys.
        """
        if context.shape.is_set or owned_members(context.owned):
            self._set(desired, live, path, context)
            return
        keys = entry_keys(context.shape, context.owned)
        pair = ListEntries.pair(desired, live, keys, context) if keys else None
        if pair is None:
            self._atomic(desired, live, path, context)
        else:
            self._associative(pair, path, context)

    def _set(self, desired: list[Any], live: list[Any], path: Path, context: FieldContext) -> None:
        """Compare members in any order; members of others may be there besides."""
        for member in desired:
            if member not in live:
                self._add((*path, str(member)), ChangeKind.MISSING, member, None)
        for member in owned_members(context.owned):
            if member in live and member not in desired:
                self._add((*path, str(member)), ChangeKind.EXTRA, None, member)

    def _atomic(
        self, desired: list[Any], live: list[Any], path: Path, context: FieldContext
    ) -> None:
        """Compare entry by entry and exactly: an apply replaces the list as a whole."""
        if len(desired) != len(live):
            self._changed(path, desired, live)
            return
        # The field set names the list only, not what is in it: all of it is ours, or unknown.
        owned = EVERYTHING if self._known else None
        inside = FieldContext(context.shape.each or PLAIN, owned, exact=True)
        for index, (value, other) in enumerate(zip(desired, live, strict=True)):
            self.value(value, other, (*path, index), inside)

    def _associative(self, entries: ListEntries, path: Path, context: FieldContext) -> None:
        """Compare entries that have the same merge keys; a new order is a change too."""
        for key, value in entries.desired.items():
            other = entries.live.get(key)
            if other is None:
                self._add((*path, key), ChangeKind.MISSING, value, None)
            else:
                self.value(value, other, (*path, key), context.entry(entries.owned_of(key)))
        for key in entries.extra(exact=context.exact):
            self._add((*path, key), ChangeKind.EXTRA, None, entries.live[key])
        order = entries.order()
        if order is not None:
            self._changed(path, *order)

    def _changed(self, path: Path, desired: Any, live: Any) -> None:
        self._add(path, ChangeKind.CHANGED, desired, live)

    def _add(self, path: tuple[Step, ...], kind: ChangeKind, desired: Any, live: Any) -> None:
        difference = FieldDifference(path=written(path), kind=kind, desired=desired, live=live)
        self.differences.append(difference)


def _same_scalar(desired: Any, live: Any, shape: Shape) -> bool:
    """Compare two scalars; Python takes True for 1, the API does not."""
    if desired == live:
        return isinstance(desired, bool) == isinstance(live, bool)
    if shape.duration:
        return same_duration(desired, live)
    return shape.quantity and same_quantity(desired, live)


def _identical(desired: Any, live: Any) -> bool:
    """Whether two values are equal throughout; JSON tells True from 1, which `==` does not."""
    return bool(desired == live) and _encoded(desired) == _encoded(live)


def _encoded(value: Any) -> bytes:
    return msgspec.json.encode(value, order="deterministic")


def _is_empty(value: Any) -> bool:
    """Whether Go's `omitempty` drops the value, also inside: `{}`, `[]`, "", 0, false, null."""
    if isinstance(value, dict):
        return all(_is_empty(each) for each in value.values())
    return not value
