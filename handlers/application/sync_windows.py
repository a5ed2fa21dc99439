"""Whether the sync windows of an AppProject let a sync start, or go on. Pure.

    active deny   active allow   inactive allow   automated   by hand
    yes           any            any              no          if all active denies have manualSync
    no            yes            any              yes         yes
    no            no             yes              no          if all inactive allows have manualSync
    no            no             no               yes         yes

A sync that has begun while the same rules allowed it goes on if all windows that forbid it now have
`syncOverrun`. One window that cannot be read forbids everything: what it would say is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from handlers.application.application import Application, AppProject
from handlers.application.destination import DestinationCluster
from handlers.application.sync_window import (
    SyncWindow,
    SyncWindowError,
    WindowKind,
    concerns,
    read_sync_window,
    utc_text,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncWindows:
    """The windows of one project that concern one Application."""

    project: str
    windows: tuple[SyncWindow, ...] = ()
    unreadable: tuple[str, ...] = ()

    def problem(self, now: datetime, *, by_hand: bool, began: datetime | None = None) -> str:
        """Say why a sync may not go ahead; empty where it may. `began`: of one under way."""
        if self.unreadable:
            return self._unreadable()
        forbidding = self.forbidding([one for one in self.windows if one.is_active(now)])
        if not forbidding or (by_hand and all(one.manual_sync for one in forbidding)):
            return ""
        overruns = began is not None and all(one.sync_overrun for one in forbidding)
        if began is not None and overruns and not self.problem(began, by_hand=by_hand):
            return ""
        return self._forbidden(forbidding, now, by_hand=by_hand)

    def forbidding(self, active: Sequence[SyncWindow]) -> Sequence[SyncWindow]:
        """Return the windows that forbid automated syncs while exactly `active` are active."""
        denies = [one for one in active if one.kind is WindowKind.DENY]
        if denies or active:
            return denies
        return [one for one in self.windows if one.kind is WindowKind.ALLOW]

    def _forbidden(self, forbidding: Sequence[SyncWindow], now: datetime, *, by_hand: bool) -> str:
        denied = forbidding[0].kind is WindowKind.DENY
        changes = [one.next_change(now) for one in forbidding]
        when = utc_text(max(changes) if denied else min(changes))
        names = "; ".join(str(one) for one in forbidding)
        state = f"until {when}" if denied else f"opens at {when}"
        advice = "" if by_hand else ", and syncs by hand need manualSync: true there"
        return (
            f"a sync window of the AppProject {self.project} forbids it: {names}; {state}{advice}"
        )

    def _unreadable(self) -> str:
        return (
            f"a sync window of the AppProject {self.project} cannot be read, so nothing is synced: "
            + "; ".join(self.unreadable)
        )


def windows_of(
    app: Application, project: AppProject | None, cluster: DestinationCluster | None = None
) -> SyncWindows:
    """Read the windows that concern the application; `cluster` has all its identities."""
    return _read(project, lambda written: concerns(written, app, cluster))


def windows_in(project: AppProject) -> SyncWindows:
    """Read all windows of the project, whichever applications they concern."""
    return _read(project, lambda _written: True)


def _read(
    project: AppProject | None, is_chosen: Callable[[Mapping[str, Any]], bool]
) -> SyncWindows:
    if project is None:
        return SyncWindows(project="")
    windows: list[SyncWindow] = []
    unreadable: list[str] = []
    for place, written in enumerate(project.spec.sync_windows):
        if not is_chosen(written):
            continue
        try:
            windows.append(read_sync_window(written))
        except SyncWindowError as error:
            unreadable.append(f"spec.syncWindows[{place}].{error}")
    return SyncWindows(
        project=project.metadata.name, windows=tuple(windows), unreadable=tuple(unreadable)
    )
