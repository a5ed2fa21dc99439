"""Events of the change feed, as subscribers get them, and the permission each needs. Pure.

The text of an event is made once for all listeners. What an event is about decides its permission;
an event that the tables below do not name is for nobody.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from service.access.decision import ACCOUNT, GrantedRole, ResourceScope, decide, exceeds
from service.access.permissions import Permission, view_permission
from service.projection.applications import application_id


class ChangeEvent(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    account: str
    type: str
    subject: str
    agent: str
    """The agent's id."""
    project: str
    time: datetime
    body: dict[str, Any]
    scope: ResourceScope = ACCOUNT
    environment: str = ""
    region: str = ""
    """Of the agent; empty where none is named or it is gone."""

    @property
    def about(self) -> str:
        """`namespace/name` of what it is about: a task names its application in the body."""
        return str(self.body.get("subject") or "") if self.type == "task.changed" else self.subject


class ChangePayload(msgspec.Struct, frozen=True, kw_only=True):
    """What subscribers and webhooks get of a change; `agent` is an id."""

    type: str
    subject: str
    agent: str
    project: str
    time: datetime
    body: dict[str, Any]


class EventFilters(msgspec.Struct, frozen=True, kw_only=True):
    """Empty: everything. `types` match a whole type or its first word: `drift`, `drift.began`."""

    types: frozenset[str] = frozenset()
    project: str = ""
    agent: str = ""
    application: str = ""
    """`namespace/name`, or the application's id."""
    environment: str = ""
    region: str = ""

    def match(self, event: ChangeEvent) -> bool:
        if self.types and not self.types & {event.type, event.type.partition(".")[0]}:
            return False
        if any(subjects and subjects != is_ for subjects, is_ in self._pairs(event)):
            return False
        return not self.application or self.application in _names(event)

    def _pairs(self, event: ChangeEvent) -> tuple[tuple[str, str], ...]:
        return (
            (self.project, event.project),
            (self.agent, event.agent),
            (self.environment, event.environment),
            (self.region, event.region),
        )


class EventVisibility(msgspec.Struct, frozen=True, kw_only=True):
    """What one subscriber may see; `everywhere`: permissions held in the whole account."""

    bindings: tuple[GrantedRole, ...]
    everywhere: frozenset[Permission]

    @classmethod
    def of(cls, bindings: Iterable[GrantedRole]) -> EventVisibility:
        granted = tuple(bindings)
        wide = (it.permissions for it in granted if it.scope.whole_account)
        return cls(bindings=granted, everywhere=frozenset().union(*wide))

    def includes(self, other: EventVisibility) -> bool:
        """Tell whether nothing that the other visibility shows is hidden here."""
        return all(
            not exceeds(self.bindings, binding.permissions, binding.scope)
            for binding in other.bindings
        )

    def may_see(self, event: ChangeEvent) -> bool:
        needed = permission_of(event)
        if needed is None:
            return False
        return needed in self.everywhere or decide(self.bindings, needed, event.scope).allowed


def permission_of(event: ChangeEvent) -> Permission | None:
    if event.type == "object.changed":
        return view_permission(str(event.body.get("kind")))
    if event.type == "fact" and not event.project:
        return Permission.REPOSITORY_VIEW
    return _OF_TYPE.get(event.type)


def payload(event: ChangeEvent) -> bytes:
    """Encode the JSON that subscribers and webhooks get."""
    return msgspec.json.encode(
        ChangePayload(
            type=event.type,
            subject=event.subject,
            agent=event.agent,
            project=event.project,
            time=event.time,
            body=event.body,
        )
    )


def server_sent(event: ChangeEvent) -> bytes:
    return frame(event.type, payload(event), event.id)


def frame(name: str, data: bytes, number: int | None = None) -> bytes:
    """JSON holds no line break, so one `data` line is enough; neither does a type of ours."""
    id_ = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (id_, name.replace("\n", " ").encode(), data)


def _names(event: ChangeEvent) -> tuple[str, str]:
    return event.about, application_id(event.agent, event.about)


_OF_TYPE = {
    "application.changed": Permission.APPLICATION_VIEW,
    "application.removed": Permission.APPLICATION_VIEW,
    "fact": Permission.APPLICATION_VIEW,
    "task.changed": Permission.APPLICATION_VIEW,
    "drift.began": Permission.APPLICATION_VIEW,
    "drift.ended": Permission.APPLICATION_VIEW,
    "agent.changed": Permission.AGENT_VIEW,
    "agent.removed": Permission.AGENT_VIEW,
    "audit.recorded": Permission.AUDIT_VIEW,
}
