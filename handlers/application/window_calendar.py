"""WindowCalendar: when the sync windows of a project are active, and what they leave open. Pure.

A window says "at this time of its zone, for so long"; a person asks "may I sync on Friday at ten?".
The calendar answers with times: the periods of each window, and the stretches of time in which
automated syncs and syncs by hand are open or closed.

A window knows its next change from the zone's offset of the moment it is asked. So the calendar
asks at each change, and once more where the zone changes to summer time or back: that is what the
agent itself will find there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

from handlers.application.sync_window import SyncWindow
from handlers.application.sync_windows import SyncWindows

_MOST_CHANGES = 2000
_FEWEST_CHANGES = 4
"""Of each window, however many windows there are."""
_INSTANT = timedelta(seconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivePeriod:
    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLane:
    """One window and its periods, in order."""

    window: SyncWindow
    periods: tuple[ActivePeriod, ...]

    def covers(self, begin: datetime, end: datetime) -> bool:
        return any(one.begin <= begin and end <= one.end for one in self.periods)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenState:
    """A stretch of time, and whether syncs may begin in it."""

    begin: datetime
    end: datetime
    automated: bool
    by_hand: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowCalendar:
    begin: datetime
    end: datetime
    """Earlier than what was asked for where the windows change too often."""
    lanes: tuple[WindowLane, ...]
    states: tuple[OpenState, ...]
    """Without gaps from `begin` to `end`; two in a row differ."""


def window_calendar(windows: SyncWindows, begin: datetime, end: datetime) -> WindowCalendar:
    """Compute the calendar from `begin` to `end`, for applications that all `windows` concern."""
    most = max(_FEWEST_CHANGES, _MOST_CHANGES // max(1, len(windows.windows)))
    changes = [_changes(one, begin, end, most) for one in windows.windows]
    end = min((times[-1] for times in changes), default=end)
    lanes = tuple(
        WindowLane(window=window, periods=tuple(_periods(window, times, end)))
        for window, times in zip(windows.windows, changes, strict=True)
    )
    return WindowCalendar(
        begin=begin, end=end, lanes=lanes, states=tuple(_states(windows, lanes, begin, end))
    )


def _changes(window: SyncWindow, begin: datetime, end: datetime, most: int) -> Sequence[datetime]:
    """List the times from `begin` to `end` between which the window's state may have changed."""
    times = [begin]
    while times[-1] < end and len(times) < most:
        now = times[-1]
        following = min(window.next_change(now + _INSTANT), end)
        times.append(_offset_change(window.zone, now, following) or max(following, now + _INSTANT))
    return times


def _offset_change(zone: ZoneInfo, begin: datetime, end: datetime) -> datetime | None:
    """Find the first second with another offset than `begin` has; None where `end` has the same."""
    before = begin.astimezone(zone).utcoffset()
    if end.astimezone(zone).utcoffset() == before:
        return None
    low, high = begin, end
    while high - low > _INSTANT:
        middle = low + (high - low) // 2
        same = middle.astimezone(zone).utcoffset() == before
        low, high = (middle, high) if same else (low, middle)
    return high.replace(microsecond=0)


def _periods(
    window: SyncWindow, times: Sequence[datetime], end: datetime
) -> Iterator[ActivePeriod]:
    """Join the active stretches that touch; what goes on after `end` ends there."""
    open_since: datetime | None = None
    for begin, after in pairwise(times):
        is_active = begin < end and window.is_active(begin + (after - begin) / 2)
        if is_active and open_since is None:
            open_since = begin
        elif not is_active and open_since is not None:
            yield ActivePeriod(begin=open_since, end=begin)
            open_since = None
    if open_since is not None:
        yield ActivePeriod(begin=open_since, end=end)


def _states(
    windows: SyncWindows, lanes: Sequence[WindowLane], begin: datetime, end: datetime
) -> Iterator[OpenState]:
    edges = {edge for lane in lanes for one in lane.periods for edge in (one.begin, one.end)}
    times = sorted({begin, end, *(edge for edge in edges if begin < edge < end)})
    found: OpenState | None = None
    for first, last in pairwise(times):
        state = _state(windows, lanes, first, last)
        if found and (found.automated, found.by_hand) == (state.automated, state.by_hand):
            found = OpenState(
                begin=found.begin, end=last, automated=state.automated, by_hand=state.by_hand
            )
            continue
        if found:
            yield found
        found = state
    if found:
        yield found


def _state(
    windows: SyncWindows, lanes: Sequence[WindowLane], begin: datetime, end: datetime
) -> OpenState:
    if windows.unreadable:
        return OpenState(begin=begin, end=end, automated=False, by_hand=False)
    active = [lane.window for lane in lanes if lane.covers(begin, end)]
    forbidding = windows.forbidding(active)
    by_hand = all(one.manual_sync for one in forbidding)
    return OpenState(begin=begin, end=end, automated=not forbidding, by_hand=by_hand)
