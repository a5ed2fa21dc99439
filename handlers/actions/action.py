"""ResourceAction is something that a person may do to an object, by the names of Argo CD. Pure.

An action makes changes: JSON merge patches of the object, and objects to create. A patch of the
status goes to the status subresource, so it is a change of its own. An action that makes no sense
for the object as it is now is listed as disabled, and can be run all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from handlers.health.predicates import Predicate
from handlers.manifest.access import Manifest


class ActionError(Exception):
    """The action cannot be done to the object; the message says why and what to do."""


class ActionChangeKind(StrEnum):
    PATCH = "patch"
    PATCH_STATUS = "patch-status"
    """To the status subresource; where the kind has none, to the object."""
    CREATE = "create"


class ActionChange(msgspec.Struct, frozen=True, kw_only=True):
    """One change; `content` is a JSON merge patch, or the object to create."""

    kind: ActionChangeKind
    content: Mapping[str, Any]


class ActionCall(msgspec.Struct, frozen=True, kw_only=True):
    """What an action is called with."""

    now: datetime
    params: Mapping[str, str] = {}

    @property
    def instant(self) -> str:
        """The time as Kubernetes writes it."""
        return self.now.strftime("%Y-%m-%dT%H:%M:%SZ")


Changes = tuple[ActionChange, ...]


def always(manifest: Manifest) -> bool:  # noqa: ARG001  a predicate
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceAction:
    """An action by its name; `enabled` says whether it makes sense for the object as it is now."""

    name: str
    changes: Callable[[Manifest, ActionCall], Changes]
    enabled: Predicate = field(default=always)
    params: tuple[str, ...] = ()
    """Parameters, which are text; every one is required."""

    def run(self, manifest: Manifest, call: ActionCall) -> Changes:
        """Raises ActionError where a parameter is missing, unknown, or wrong."""
        for name in self.params:
            if name not in call.params:
                raise ActionError(f"action {self.name} needs the parameter {name}")
        unknown = sorted(call.params.keys() - set(self.params))
        if unknown:
            known = ", ".join(self.params) or "none"
            raise ActionError(f"action {self.name} has no parameter {unknown[0]}; it has {known}")
        return self.changes(manifest, call)


def changes_of(patch: Mapping[str, Any]) -> Changes:
    """Split a merge patch into its status, which goes first, and all else; empty parts are none."""
    rest = {name: value for name, value in patch.items() if name != "status"}
    parts = []
    if "status" in patch:
        content = {"status": patch["status"]}
        parts.append(ActionChange(kind=ActionChangeKind.PATCH_STATUS, content=content))
    if rest:
        parts.append(ActionChange(kind=ActionChangeKind.PATCH, content=rest))
    return tuple(parts)


def created(manifest: Mapping[str, Any]) -> Changes:
    return (ActionChange(kind=ActionChangeKind.CREATE, content=manifest),)
