"""Causes: of each application that is not healthy, the deepest ill object and what it says.

A change in the live index marks the applications that it may belong to; the marked ones are looked
at soon after, so that a rollout is one look and not hundreds. An object that says nothing of itself
(a claim without a volume, a StatefulSet that may not create pods) is explained by its newest
Warning event, asked for only then, and again every few seconds for as long as it stays ill.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from agent.kube.client import KubeClient
from agent.kube.index import LiveIndex
from agent.store.applications import Applications
from bus.cause import Cause
from handlers.application.application import Application
from handlers.health.cause import ILL, cause_of, deepest_ill
from handlers.health.members import status_of
from handlers.manifest import access
from handlers.manifest.tracking import app_identity
from handlers.ports import ApplyRefusedError, Clock, ClusterUnreachableError, LiveObject
from handlers.report.items import APPLICATION

_LOOK_SECONDS = 0.5
_EVENTS_AGAIN = timedelta(seconds=10)
_SLICE = 20
_MOST_EVENTS = "50"


class _Explained(msgspec.Struct, frozen=True, kw_only=True):
    """What the events said of an object, and when they were asked."""

    uid: str
    asked_at: datetime
    event: Mapping[str, object] | None


@dataclass(slots=True, kw_only=True)
class Causes:
    """By application; `observe` and `application_changed` mark, `look` finds out."""

    applications: Applications
    index: LiveIndex
    client: KubeClient
    clock: Clock
    control_namespace: str
    _found: dict[str, Cause] = field(default_factory=dict)
    _explained: dict[str, _Explained] = field(default_factory=dict)
    """By application: of those whose object says nothing of itself."""
    _marked: set[str] = field(default_factory=set)

    def __call__(self) -> Mapping[str, Cause]:
        """By `namespace/name` of those that have one."""
        return self._found

    def observe(self, before: LiveObject | None, after: LiveObject | None) -> None:
        """Of the index: called often, so what was well and stays well ends at once."""
        if _condition(before) == _condition(after):
            return
        for live in (before, after):
            if live is not None and (live.owners or live.tracking):
                self._marked |= self.index.roots_of(live)

    def application_changed(self, subject: str) -> None:
        self._marked.add(subject)

    async def watch(self, changed: Callable[[str, str], None]) -> None:
        """For ever: `changed` is called with kind and subject."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            self._marked |= self._to_be_asked_again()
            if self._marked:
                for subject in await self.look():
                    changed(APPLICATION, subject)

    async def look(self, *, everywhere: bool = False) -> Sequence[str]:
        """Subjects whose cause is another one than before."""
        marked, self._marked = self._marked, set()
        apps = {str(app.key): app for app in self.applications.all()}
        for subject in [it for it in self._found if it not in apps]:
            self._forget(subject)
        wanted = [
            (subject, app)
            for subject, app in apps.items()
            if everywhere or subject in marked or self._identity(app) in marked
        ]
        changed = []
        for number, (subject, app) in enumerate(wanted):
            if number % _SLICE == _SLICE - 1:
                await asyncio.sleep(0)
            if await self._take(subject, app):
                changed.append(subject)
        return changed

    async def _take(self, subject: str, app: Application) -> bool:
        before = self._found.get(subject)
        after = await self._cause(subject, app)
        if after == before:
            return False
        if after is None:
            self._forget(subject)
        else:
            self._found[subject] = after
        return True

    async def _cause(self, subject: str, app: Application) -> Cause | None:
        ill = status_of(app.status.health) in ILL
        live = deepest_ill(app.status, self.index) if ill else None
        if live is None or live.symptom is not None:
            self._explained.pop(subject, None)
            return cause_of(live) if live is not None else None
        return _with_event(cause_of(live), (await self._explanation(subject, live)).event)

    async def _explanation(self, subject: str, live: LiveObject) -> _Explained:
        now, known = self.clock.now(), self._explained.get(subject)
        if known is not None and known.uid == live.uid and now - known.asked_at < _EVENTS_AGAIN:
            return known
        event = await self._newest_warning(live)
        fresh = _Explained(uid=live.uid, asked_at=now, event=event)
        self._explained[subject] = fresh
        return fresh

    async def _newest_warning(self, live: LiveObject) -> Mapping[str, object] | None:
        """None where there is none, or we may not see events: the cause then has no reason."""
        path = f"/api/v1/namespaces/{live.key.namespace or 'default'}/events"
        selector = f"involvedObject.uid={live.uid},type=Warning"
        try:
            raw = await self.client.list_page(
                path, {"limit": _MOST_EVENTS, "fieldSelector": selector}
            )
        except (ApplyRefusedError, ClusterUnreachableError):
            return None
        found: list[Mapping[str, object]] = [*access.items(msgspec.json.decode(raw), "items")]
        return max(found, key=_when, default=None)

    def _to_be_asked_again(self) -> set[str]:
        now = self.clock.now()
        due = (it for it, one in self._explained.items() if now - one.asked_at >= _EVENTS_AGAIN)
        return set(due)

    def _forget(self, subject: str) -> None:
        self._found.pop(subject, None)
        self._explained.pop(subject, None)

    def _identity(self, app: Application) -> str:
        return app_identity(app.key, self.control_namespace)


def _condition(live: LiveObject | None) -> tuple[object, ...]:
    """What of an object decides whether it is a cause, and which."""
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
        since=access.text(event, "firstTimestamp") or _when(event),
    )


def _when(event: Mapping[str, object]) -> str:
    seen = access.text(event, "lastTimestamp") or access.text(event, "eventTime")
    return seen or access.text(event, "metadata", "creationTimestamp")
