"""CauseTracker: for each unhealthy application, the deepest unhealthy object and its message.

A change in the live index marks the applications that it may belong to; their causes are found soon
after, so that a rollout is one pass and not hundreds. Some objects have no message in their status
(a claim without a volume, a StatefulSet that may not create pods). For those the newest Warning
event is read from the API server, and again every few seconds for as long as they stay unhealthy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from agent.bridge.reporting.change_marks import ChangeMarks, in_slices, marked_applications
from agent.kube.client import KubeClient
from agent.kube.clusters import ClusterSessions
from agent.kube.core_api import events_path, last_seen
from agent.kube.index import LiveIndex
from agent.store.applications import Applications
from bus.link.kinds import APPLICATION
from bus.status import Cause
from handlers.application.application import Application
from handlers.health.application_health import status_of
from handlers.health.cause import ILL, cause_of, deepest_ill
from handlers.manifest import access
from handlers.ports import ApplyRefusedError, Clock, ClusterUnreachableError, LiveObject

_COLLECT_SECONDS = 0.5
_EVENTS_AGAIN = timedelta(seconds=10)
_MOST_EVENTS = "50"


class _KnownCause(msgspec.Struct, frozen=True, kw_only=True):
    """The newest Warning event of an object, and when it was read."""

    uid: str
    asked_at: datetime
    event: Mapping[str, object] | None


@dataclass(slots=True, kw_only=True)
class CauseTracker:
    """`observe` and `application_changed` mark applications, `update` finds their causes."""

    applications: Applications
    clusters: ClusterSessions
    clock: Clock
    control_namespace: str
    _causes: dict[str, Cause] = field(default_factory=dict)
    _explained: dict[str, _KnownCause] = field(default_factory=dict)
    """By application, where the object has no message of its own."""
    _marks: ChangeMarks = field(
        default_factory=lambda: ChangeMarks(collect_seconds=_COLLECT_SECONDS)
    )

    def __call__(self) -> Mapping[str, Cause]:
        """The causes by `namespace/name` of the application, if it has one."""
        return self._causes

    def observe(
        self, index: LiveIndex, before: LiveObject | None, after: LiveObject | None
    ) -> None:
        """Mark the applications of a changed object; called for every change of an index."""
        if _condition(before) == _condition(after):
            return
        for live in (before, after):
            if live is not None and (live.owners or live.tracking):
                self._marks.add(index.roots_of(live))

    def application_changed(self, subject: str) -> None:
        self._marks.add((subject,))

    async def watch(self, changed: Callable[[str, str], None]) -> None:
        """Call `changed` with kind and subject of each change, until cancelled."""
        while True:
            await self._marks.wait(self._seconds_until_events())
            self._marks.add(self._due_for_events())
            for subject in await self.update():
                changed(APPLICATION.name, subject)

    async def update(self, *, everywhere: bool = False) -> Sequence[str]:
        """Find the causes of the marked applications, or of all; returns the changed subjects."""
        marked = self._marks.take()
        apps = {str(app.key): app for app in self.applications.all()}
        for subject in [it for it in self._causes if it not in apps]:
            self._forget(subject)
        subjects = apps.keys() if everywhere else marked
        due = marked_applications(apps, subjects, self.control_namespace)
        changed = []
        async for subject, app in in_slices(due):
            if await self._update_one(subject, app):
                changed.append(subject)
        return changed

    async def _update_one(self, subject: str, app: Application) -> bool:
        before = self._causes.get(subject)
        after = await self._cause(subject, app)
        if after == before:
            return False
        if after is None:
            self._forget(subject)
        else:
            self._causes[subject] = after
        return True

    async def _cause(self, subject: str, app: Application) -> Cause | None:
        ill = status_of(app.status.health) in ILL
        session = self.clusters.open_session(app.spec.destination) if ill else None
        live = deepest_ill(app.status, session.live.index) if session else None
        if session is None or live is None or live.symptom is not None:
            self._explained.pop(subject, None)
            return cause_of(live) if live is not None else None
        return _with_event(
            cause_of(live), (await self._explanation(subject, live, session.client)).event
        )

    async def _explanation(self, subject: str, live: LiveObject, client: KubeClient) -> _KnownCause:
        now, known = self.clock.now(), self._explained.get(subject)
        if known is not None and known.uid == live.uid and now - known.asked_at < _EVENTS_AGAIN:
            return known
        event = await _newest_warning(client, live)
        fresh = _KnownCause(uid=live.uid, asked_at=now, event=event)
        self._explained[subject] = fresh
        return fresh

    def _seconds_until_events(self) -> float | None:
        """Until the events of some object are to be read again; None if of none."""
        if not self._explained:
            return None
        oldest = min(known.asked_at for known in self._explained.values())
        left = (oldest + _EVENTS_AGAIN - self.clock.now()).total_seconds()
        return min(max(0.0, left), _EVENTS_AGAIN.total_seconds())

    def _due_for_events(self) -> set[str]:
        now = self.clock.now()
        due = (it for it, one in self._explained.items() if now - one.asked_at >= _EVENTS_AGAIN)
        return set(due)

    def _forget(self, subject: str) -> None:
        self._causes.pop(subject, None)
        self._explained.pop(subject, None)


def _condition(live: LiveObject | None) -> tuple[object, ...]:
    """The fields of an object that decide whether it is a cause, and which."""
    if live is None or (live.health not in ILL and not live.deleting):
        return ()
    return live.uid, live.owners, live.health, live.health_message, live.symptom, live.deleting


def _with_event(cause: Cause, event: Mapping[str, object] | None) -> Cause:
    if event is None:
        return cause
    return msgspec.structs.replace(
        cause,
        reason=access.text(event, "reason"),
        message=access.text(event, "message") or cause.message,
        since=access.text(event, "firstTimestamp") or last_seen(event),
    )


async def _newest_warning(client: KubeClient, live: LiveObject) -> Mapping[str, object] | None:
    """None if there is none or events may not be read: the cause then has no reason."""
    path = events_path(live.key.namespace or "default")
    selector = f"involvedObject.uid={live.uid},type=Warning"
    try:
        raw = await client.list_page(path, {"limit": _MOST_EVENTS, "fieldSelector": selector})
    except (ApplyRefusedError, ClusterUnreachableError):
        return None
    found: list[Mapping[str, object]] = [*access.items(msgspec.json.decode(raw), "items")]
    return max(found, key=last_seen, default=None)
