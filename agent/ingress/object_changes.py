"""A change of a live object as its fact tells it, and several changes as one. Pure.

A change counts where the object came or went, where more than its status differs, and where its
health does. Nothing here holds a value of a field.
"""

from __future__ import annotations

from typing import Self

import msgspec

from agent.kube.live_change import LiveChange
from agent.kube.summary import MANAGER
from bus.events.object_facts import WatchChange
from bus.status import HealthStatus
from handlers.comparison.changed_fields import changed_fields
from handlers.ports import LiveObject

_FIELDS = 10
_FIELD_BYTES = 200
_MANAGERS = 5
_MANAGER_BYTES = 64
_COMPARED_CHANGES = 8
_COMPARED_BYTES = 256 * 1024
"""Of both versions together: larger objects are not compared field by field for a fact."""


class ObjectChange(msgspec.Struct, frozen=True, kw_only=True):
    """What has happened to one object; `existed` and `exists` are of its beginning and its end."""

    existed: bool
    exists: bool
    health_before: HealthStatus | None = None
    health: HealthStatus | None = None
    fields: tuple[str, ...] = ()
    managers: tuple[str, ...] = ()
    changes: int = 1

    @property
    def kind(self) -> WatchChange:
        if not self.exists:
            return WatchChange.DELETED
        return WatchChange.MODIFIED if self.existed else WatchChange.ADDED

    @property
    def is_full(self) -> bool:
        """Whether the fields of another change are not looked for, to bound what it costs."""
        return len(self.fields) >= _FIELDS or self.changes >= _COMPARED_CHANGES

    def then(self, later: ObjectChange) -> Self:
        """Sum up this change and a later one of the same object."""
        return msgspec.structs.replace(
            self,
            exists=later.exists,
            health=later.health,
            fields=_together(self.fields, later.fields, _FIELDS),
            managers=_together(self.managers, later.managers, _MANAGERS),
            changes=self.changes + later.changes,
        )


def object_change(change: LiveChange, *, ours: bool, paths: bool = True) -> ObjectChange | None:
    """Describe a change; None for one that does not count. `paths`: look for the fields."""
    before, after = change.before, change.after
    if before is not None and after is not None and _is_same(before, after):
        return None
    compared = paths and before is not None and after is not None
    fields = _fields(before, after) if compared and before and after else ()
    return ObjectChange(
        existed=before is not None,
        exists=after is not None,
        health_before=before.health if before is not None else None,
        health=after.health if after is not None else None,
        fields=fields,
        managers=_managers(before, after, ours=ours),
    )


def _is_same(before: LiveObject, after: LiveObject) -> bool:
    return _content(before) == _content(after) and before.health == after.health


def _content(live: LiveObject) -> tuple[str, str]:
    return live.uid, live.fingerprint


def _fields(before: LiveObject, after: LiveObject) -> tuple[str, ...]:
    if _content(before) == _content(after) or not before.body or not after.body:
        return ()
    if len(before.body) + len(after.body) > _COMPARED_BYTES:
        return ()
    found = changed_fields(before.manifest, after.manifest, most=_FIELDS)
    return tuple(_cut(path, _FIELD_BYTES) for path in found)


def _managers(
    before: LiveObject | None, after: LiveObject | None, *, ours: bool
) -> tuple[str, ...]:
    """Name who wrote the content; the cluster does not say who deleted an object."""
    if after is None or (before is not None and _content(before) == _content(after)):
        return ()
    name = MANAGER if ours else after.written_by
    return (_cut(name, _MANAGER_BYTES),) if name else ()


def _cut(text: str, most: int) -> str:
    """Cut a text to its first bytes as they stand in JSON at the worst."""
    while len(msgspec.json.encode(text)) > most:
        text = text[: len(text) * 3 // 4]
    return text


def _together(first: tuple[str, ...], second: tuple[str, ...], most: int) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))[:most]
