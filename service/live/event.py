"""One row of the change feed as subscribers get it, and who may get it. Pure.

The text is made once, however many listen. What an event is about decides which permission it
takes; what stands nowhere in this table nobody gets.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from service.access.decide import decide, exceeds
from service.access.permissions import Permission
from service.access.values import ACCOUNT, Binding, Place
from service.projection.applications import application_id


class Event(msgspec.Struct, frozen=True, kw_only=True):
    id: int
    account: str
    type: str
    subject: str
    agent: str
    """The agent's id."""
    project: str
    time: datetime
    body: dict[str, Any]
    place: Place = ACCOUNT
    environment: str = ""
    region: str = ""
    """Of the agent; empty where none is named or it is gone."""

    @property
    def about(self) -> str:
        """`namespace/name` of what it is about: a task names its application in the body."""
        return str(self.body.get("subject") or "") if self.type == "task.changed" else self.subject


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Empty: everything. `types` match a whole type or its first word: `drift`, `drift.began`."""

    types: frozenset[str] = frozenset()
    project: str = ""
    agent: str = ""
    application: str = ""
    """`namespace/name`, or the application's id."""
    environment: str = ""
    region: str = ""

    def match(self, event: Event) -> bool:
        if self.types and not self.types & {event.type, event.type.partition(".")[0]}:
            return False
        if any(wanted and wanted != is_ for wanted, is_ in self._pairs(event)):
            return False
        return not self.application or self.application in _names(event)

    def _pairs(self, event: Event) -> tuple[tuple[str, str], ...]:
        return (
            (self.project, event.project),
            (self.agent, event.agent),
            (self.environment, event.environment),
            (self.region, event.region),
        )


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What one subscriber may see; `everywhere`: permissions held in the whole account."""

    bindings: tuple[Binding, ...]
    everywhere: frozenset[Permission]

    @classmethod
    def of(cls, bindings: Iterable[Binding]) -> View:
        given = tuple(bindings)
        wide = (it.permissions for it in given if it.scope.whole_account)
        return cls(bindings=given, everywhere=frozenset().union(*wide))

    def includes(self, other: View) -> bool:
        """Whether nothing that the other one shows is hidden here."""
        return all(
            not exceeds(self.bindings, binding.permissions, binding.scope)
            for binding in other.bindings
        )

    def may_see(self, event: Event) -> bool:
        needed = permission_of(event)
        if needed is None:
            return False
        return needed in self.everywhere or decide(self.bindings, needed, event.place).allowed


def permission_of(event: Event) -> Permission | None:
    if event.type == "object.changed":
        return _OF_KIND.get(str(event.body.get("kind")))
    if event.type == "fact" and not event.project:
        return Permission.REPOSITORY_VIEW
    return _OF_TYPE.get(event.type)


def payload(event: Event) -> bytes:
    """The JSON that subscribers and webhooks get."""
    return msgspec.json.encode(
        {
            "type": event.type,
            "subject": event.subject,
            "agent": event.agent,
            "project": event.project,
            "time": event.time,
            "body": event.body,
        }
    )


def server_sent(event: Event) -> bytes:
    return frame(event.type, payload(event), event.id)


def frame(name: str, data: bytes, number: int | None = None) -> bytes:
    """JSON holds no line break, so one `data` line is enough; neither does a type of ours."""
    id_ = b"" if number is None else b"id: %d\n" % number
    return b"%sevent: %s\ndata: %s\n\n" % (id_, name.replace("\n", " ").encode(), data)


def _names(event: Event) -> tuple[str, str]:
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
_OF_KIND = {
    "AppProject": Permission.APPLICATION_VIEW,
    "Instances": Permission.APPLICATION_VIEW,
    "Repository": Permission.REPOSITORY_VIEW,
    "RepositoryCredentials": Permission.REPOSITORY_VIEW,
    "Cluster": Permission.CLUSTER_VIEW,
    "RepositoryCertificate": Permission.CERT_VIEW,
    "GnuPGKey": Permission.GPGKEY_VIEW,
}
