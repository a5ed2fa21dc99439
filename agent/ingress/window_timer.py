"""The window timer asks for the applications whose sync windows open or close, when they do.

It sleeps until the next change of any window, and is woken by a change of a project. Whether a sync
may start is decided from the clock each time, so an ask too many does no harm, and one that could
not be published is made again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog

from agent.store.application_index import everything
from agent.store.applications import Applications
from agent.subscribers import Subscribers
from bus.carrier import CarrierError, EventPublisher
from bus.events import RefreshApp
from bus.identity import AppKey
from handlers.application.application import AppProject
from handlers.application.sync_window import SyncWindowError, concerns, read_sync_window
from handlers.ports import Clock

log = structlog.get_logger()

_JUST_AFTER = timedelta(milliseconds=50)
"""A period excludes its ends."""
_LONGEST_SLEEP = 60.0
"""A clock that is set, or a machine that was suspended, is noticed within this many seconds."""


@dataclass(slots=True, kw_only=True)
class WindowTimer:
    """Runs as long as the agent acts, as a task of its TaskGroup."""

    apps: Applications
    publish: EventPublisher
    clock: Clock
    owns: Callable[[AppKey], bool] = everything
    """Whether this replica acts for the Application."""
    settings_changes: Subscribers[[]]
    """Announces another `argocd-cm`, which says whose windows are global."""
    _woken: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        seen = self.clock.now()
        with (
            self.apps.project_changes.subscribed(self._project_changed),
            self.settings_changes.subscribed(self._woken.set),
        ):
            while True:
                self._woken.clear()
                await self._sleep(seen)
                seen = await self.publish_due(seen, self.clock.now())

    async def publish_due(self, since: datetime, until: datetime) -> datetime:
        """Publish an ask for each application whose windows changed; return the next `since`."""
        try:
            for ask in self._due(since, until):
                await self.publish(ask)
        except CarrierError as error:
            log.warning("changes of sync windows could not be published", error=str(error))
            return since
        return until

    def next_change(self, now: datetime) -> datetime | None:
        """When the next window of any project opens or closes; None where there is no window."""
        changes = (
            _next_change(window, now)
            for project in self._projects()
            for window in project.spec.sync_windows
        )
        return min((change for change in changes if change is not None), default=None)

    def _due(self, since: datetime, until: datetime) -> Iterator[RefreshApp]:
        changed = {
            project.metadata.name: windows
            for project in self._projects()
            if (windows := _changed(project, since, until))
        }
        if not changed:
            return
        for app in self.apps.all():
            windows = changed.get(app.spec.project or "default", ())
            if (
                not app.deleting
                and self.owns(app.key)
                and any(concerns(window, app) for window in windows)
            ):
                yield RefreshApp(app=app.key)

    def _projects(self) -> Iterator[AppProject]:
        """Each project with the windows that are global for it; `default` exists always."""
        for name in {"default", *(it.metadata.name for it in self.apps.projects())}:
            if (project := self.apps.project(name)) is not None:
                yield project

    async def _sleep(self, seen: datetime) -> None:
        change = self.next_change(seen)
        if change is None:
            await self._woken.wait()
            return
        left = (change + _JUST_AFTER - self.clock.now()).total_seconds()
        try:
            async with asyncio.timeout(min(max(left, 0.0), _LONGEST_SLEEP)):
                await self._woken.wait()
        except TimeoutError:
            return

    def _project_changed(self, _before: AppProject | None, _after: AppProject | None) -> None:
        self._woken.set()


def _changed(
    project: AppProject, since: datetime, until: datetime
) -> tuple[Mapping[str, Any], ...]:
    changes = ((window, _next_change(window, since)) for window in project.spec.sync_windows)
    return tuple(window for window, at in changes if at is not None and at < until)


def _next_change(window: Mapping[str, Any], now: datetime) -> datetime | None:
    """None for a window that cannot be read: it forbids everything until somebody changes it."""
    try:
        return read_sync_window(window).next_change(now)
    except SyncWindowError:
        return None
