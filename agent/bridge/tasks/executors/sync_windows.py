"""SyncWindowsExecutor: answers with the calendar of the sync windows of a project.

The windows are those of the project as it acts, with those of global projects. Asked about an
Application, the answer has only the windows that concern it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from agent.bridge.cluster_state import ClusterState
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from bus.link import LinkTask, SyncWindowsArguments
from handlers.application.application import AppProject
from handlers.application.sync_windows import SyncWindows, windows_in, windows_of
from handlers.application.times import written
from handlers.application.window_calendar import (
    OpenState,
    WindowCalendar,
    WindowLane,
    window_calendar,
)
from handlers.control_plane.governance import Governance

_BEFORE, _AFTER = timedelta(days=1), timedelta(days=8)
"""A week from the beginning of today, in any zone."""
_MOST_WINDOWS = 100


def _utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncWindowsExecutor:
    subjects: TaskSubjects
    cluster: ClusterState
    governance: Governance
    now: Callable[[], datetime] = _utc_now

    async def __call__(
        self, task: LinkTask, args: SyncWindowsArguments, _context: TaskContext
    ) -> object:
        windows, override_problem = self._windows(task, args)
        if (count := len(windows.windows)) > _MOST_WINDOWS:
            text = f"the AppProject {windows.project} has {count} sync windows for this: a calendar"
            raise TaskFailedError("failed", f"{text} shows {_MOST_WINDOWS} at most")
        now = self.now().replace(microsecond=0)
        calendar = await asyncio.to_thread(window_calendar, windows, now - _BEFORE, now + _AFTER)
        states = calendar.states if not args.project or _concern_alike(windows) else ()
        return {
            "project": windows.project,
            "now": written(now),
            "begin": written(calendar.begin),
            "end": written(calendar.end),
            "states": [_state(one) for one in states],
            "windows": [_lane(one) for one in calendar.lanes],
            "unreadable": list(windows.unreadable),
            "automated": _closed(windows, calendar, now, by_hand=False) if states else None,
            "byHand": _closed(windows, calendar, now, by_hand=True) if states else None,
            "overrideProblem": override_problem,
        }

    def _windows(self, task: LinkTask, args: SyncWindowsArguments) -> tuple[SyncWindows, str]:
        """Read the windows, and why none of them may be overridden."""
        if args.project:
            project = self._project(args.project)
            return windows_in(project), self.governance.policy().window_override_problem()
        app = self.subjects.app(task)
        cluster = self.cluster.clusters.of(app.spec.destination).cluster
        windows = windows_of(app, self._project(app.spec.project), cluster)
        return windows, self.governance.window_override_problem(app)

    def _project(self, name: str) -> AppProject:
        project = self.cluster.applications.project(name)
        if project is None:
            raise TaskFailedError("not_found", f"there is no AppProject {name}")
        return project


def _concern_alike(windows: SyncWindows) -> bool:
    """Whether all windows choose the same applications, so that one answer holds for those."""
    return len({one.selectors for one in windows.windows}) <= 1


def _closed(
    windows: SyncWindows, calendar: WindowCalendar, now: datetime, *, by_hand: bool
) -> dict[str, Any]:
    """Say whether syncs of one way may begin now, why not, and until when that holds."""
    coming = [one for one in calendar.states if one.end > now]
    is_open = _is_open(coming[0], by_hand=by_hand) if coming else True
    change = next((one.begin for one in coming if _is_open(one, by_hand=by_hand) != is_open), None)
    return {
        "open": is_open,
        "why": "" if is_open else windows.problem(now, by_hand=by_hand),
        "until": written(change) if change else "",
    }


def _is_open(state: OpenState, *, by_hand: bool) -> bool:
    return state.by_hand if by_hand else state.automated


def _state(one: OpenState) -> dict[str, Any]:
    return {
        "begin": written(one.begin),
        "end": written(one.end),
        "automated": one.automated,
        "byHand": one.by_hand,
    }


def _lane(lane: WindowLane) -> dict[str, Any]:
    window, selectors = lane.window, lane.window.selectors
    return {
        "kind": window.kind,
        "schedule": window.schedule,
        "seconds": int(window.duration.total_seconds()),
        "timeZone": window.zone.key,
        "description": window.description,
        "manualSync": window.manual_sync,
        "syncOverrun": window.sync_overrun,
        "applications": list(selectors.applications),
        "namespaces": list(selectors.namespaces),
        "clusters": list(selectors.clusters),
        "andOperator": selectors.all_of,
        "periods": [{"begin": written(one.begin), "end": written(one.end)} for one in lane.periods],
    }
