"""Sync windows as a calendar: of one application, or of one AppProject, as its agent answers now.

The agent reads them, because it knows the windows of global projects, the names of the destination
cluster and the clock that counts. The service passes its answer on.
"""

from __future__ import annotations

from typing import Literal

from aiohttp import web

from bus.link import SyncWindowsArguments
from service.access.permissions import Permission
from service.api.agent_tasks.task_answers import TaskTarget, answered, ask
from service.api.applications import applications as apps
from service.api.applications import appprojects
from service.api.applications.agent_reads import WAIT_SECONDS
from service.api.connections.reported_objects import target_of
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, ResponseModel

VIEW = Permission.APPLICATION_VIEW


class WindowPeriod(ResponseModel, frozen=True, kw_only=True):
    begin: str
    end: str


class SyncWindowLane(ResponseModel, frozen=True, kw_only=True):
    """One window as the AppProject has it, and when it is active; `seconds` is its duration."""

    kind: Literal["allow", "deny"]
    schedule: str
    seconds: int
    time_zone: str
    description: str
    manual_sync: bool
    sync_overrun: bool
    applications: list[str]
    namespaces: list[str]
    clusters: list[str]
    and_operator: bool
    periods: list[WindowPeriod]


class SyncOpenState(ResponseModel, frozen=True, kw_only=True):
    """A stretch of time, and whether automated syncs and syncs by hand may begin in it."""

    begin: str
    end: str
    automated: bool
    by_hand: bool


class SyncOpenNow(ResponseModel, frozen=True, kw_only=True):
    """Whether syncs may begin now; `until` is the next change, empty for none that is known."""

    open: bool
    why: str
    """Why not."""
    until: str


class SyncWindowCalendar(ResponseModel, frozen=True, kw_only=True):
    """The windows from `begin` to `end`; `now` is the agent's clock."""

    project: str
    now: str
    begin: str
    end: str
    states: list[SyncOpenState]
    """Empty for a project whose windows choose different applications."""
    windows: list[SyncWindowLane]
    unreadable: list[str]
    """What is wrong with windows that cannot be read: they close everything that they concern."""
    automated: SyncOpenNow | None
    by_hand: SyncOpenNow | None
    override_problem: str
    """Why no sync may pass a closed window here; empty where one may."""


async def get_sync_windows(call: ApiCall, _params: NoInput) -> web.Response:
    """Get the calendar of the sync windows that concern an application."""
    row = await apps.find(call, call.id, VIEW)
    return await _calendar(call, row, SyncWindowsArguments())


async def get_project_sync_windows(call: ApiCall, _params: NoInput) -> web.Response:
    """Get the calendar of all sync windows of an AppProject, those of global projects included."""
    row = await appprojects.find(call)
    return await _calendar(call, target_of(row), SyncWindowsArguments(project=row.project))


async def _calendar(
    call: ApiCall, target: TaskTarget, arguments: SyncWindowsArguments
) -> web.Response:
    ended = await ask(call, target, arguments, within=WAIT_SECONDS)
    return await answered(call, ended)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/sync-windows",
        needs=VIEW,
        handler=get_sync_windows,
        gives=SyncWindowCalendar,
    ),
    Endpoint(
        method="GET",
        path="/appprojects/{id}/sync-windows",
        needs=VIEW,
        handler=get_project_sync_windows,
        gives=SyncWindowCalendar,
    ),
)
