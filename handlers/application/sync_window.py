"""SyncWindow is one recurring period of an AppProject in which syncs are allowed or denied. Pure.

Its meaning is Argo CD's: a schedule of five fields as cron has them, where day of month and day of
week are alternatives if both are given; a period begins right after a time of the schedule and ends
`duration` later, both ends excluded. A zone counts with its offset of this moment, also for times
beyond a change to summer time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from handlers.application.address_pattern import matches
from handlers.application.application import Application
from handlers.application.destination import DestinationCluster
from handlers.application.times import seconds

_FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_SIGNS = re.compile(r"[0-9A-Za-z*,/-]+")
_NAMES = frozenset(
    ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
) | frozenset(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))
_LONGEST_CHAIN = 1000
"""Periods that overlap, counted as one until this many; then the end is said too early."""


class WindowKind(StrEnum):
    ALLOW = "allow"
    DENY = "deny"


class SyncWindowError(Exception):
    """A window that cannot be read; the message names the field and what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSelectors:
    """The lists of patterns by which a window chooses applications; `all_of`: each has to match."""

    applications: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()
    all_of: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncWindow:
    kind: WindowKind
    schedule: str
    duration: timedelta
    zone: ZoneInfo
    manual_sync: bool = False
    """Whether syncs by hand may start although the window forbids automated ones."""
    sync_overrun: bool = False
    """Whether a sync that was allowed to start may end although the window forbids it now."""
    description: str = ""
    selectors: WindowSelectors = WindowSelectors()

    def is_active(self, now: datetime) -> bool:
        local = self._local(now)
        return self._next(local - self.duration) < local

    def next_change(self, now: datetime) -> datetime:
        """When an active window ends, or when the next period begins."""
        local = self._local(now)
        begin = self._next(local - self.duration)
        if begin >= local:
            return now + (begin - local)
        for _ in range(_LONGEST_CHAIN):
            following = self._next(begin)
            if following >= begin + self.duration:
                break
            begin = following
        return now + (begin + self.duration - local)

    def __str__(self) -> str:
        hours = self.duration.total_seconds() / 3600
        about = f"{self.description}: " if self.description else ""
        return f"{about}{self.kind} {self.schedule} for {hours:g} h ({self.zone.key})"

    def _next(self, after: datetime) -> datetime:
        return next(CronSim(_cron(self.schedule), after))

    def _local(self, now: datetime) -> datetime:
        """The time on a clock of the zone, without its zone."""
        return now.astimezone(self.zone).replace(tzinfo=None)


def read_sync_window(written: Mapping[str, Any]) -> SyncWindow:
    """Read a window as an AppProject has it; raises SyncWindowError."""
    try:
        kind = WindowKind(written.get("kind", ""))
    except ValueError:
        raise SyncWindowError(f"kind is {written.get('kind')!r}: expected allow or deny") from None
    return SyncWindow(
        kind=kind,
        schedule=_schedule(written.get("schedule")),
        duration=_duration(written.get("duration")),
        zone=_zone(written.get("timeZone") or "UTC"),
        manual_sync=written.get("manualSync") is True,
        sync_overrun=written.get("syncOverrun") is True,
        description=str(written.get("description") or ""),
        selectors=WindowSelectors(
            applications=_patterns(written.get("applications")),
            namespaces=_patterns(written.get("namespaces")),
            clusters=_patterns(written.get("clusters")),
            all_of=written.get("andOperator") is True,
        ),
    )


def concerns(
    written: Mapping[str, Any], app: Application, cluster: DestinationCluster | None = None
) -> bool:
    """Whether the window selects the application; one whose selectors are malformed does.

    Any list that matches is enough; with `andOperator` each list that is given has to.
    """
    answers = list(_answers(written, app, cluster))
    if not answers:
        return False
    return all(answers) if written.get("andOperator") is True else any(answers)


def _answers(
    written: Mapping[str, Any], app: Application, cluster: DestinationCluster | None
) -> Iterator[bool]:
    """Whether each list of the window matches; clusters by every identity that is known."""
    destination = app.spec.destination
    identities = cluster.identities if cluster else ()
    subjects = {
        "applications": (app.metadata.name,),
        "namespaces": (destination.namespace,),
        "clusters": tuple(filter(None, (destination.server, destination.name, *identities))),
    }
    for field, words in subjects.items():
        globs = written.get(field)
        if globs:
            yield not isinstance(globs, list) or _any(globs, words)


def _patterns(written: object) -> tuple[str, ...]:
    return tuple(map(str, written)) if isinstance(written, list) else ()


def _any(globs: list[Any], words: tuple[str, ...]) -> bool:
    return any(matches(str(glob), word) for glob in globs for word in words)


def _schedule(written: object) -> str:
    schedule = " ".join(written.split()) if isinstance(written, str) else ""
    try:
        next(CronSim(_cron(schedule), datetime(2000, 1, 1)))  # noqa: DTZ001  any zone
    except (CronSimError, ValueError) as error:
        raise SyncWindowError(
            f"schedule is {written!r}: {error}; expected five fields "
            f"({', '.join(_FIELDS)}) such as '0 22 * * 1-5'"
        ) from None
    return schedule


@lru_cache(maxsize=512)
def _cron(schedule: str) -> str:
    """Spell the schedule for CronSim, which knows more than Argo CD and reads `*/2` otherwise.

    There a step of days does not count as "any day", so that it is an alternative to the other.
    Raises ValueError.
    """
    fields = schedule.lower().split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"{len(fields)} fields")
    for name, field in zip(_FIELDS, fields, strict=True):
        words = set(re.findall(r"[a-z]+", field))
        if (field != "?" and not _SIGNS.fullmatch(field)) or words - _NAMES:
            raise ValueError(f"the {name} {field!r} is no number, name, range, list or step")
    if re.search(r"\b7\b", fields[4].partition("/")[0]):
        raise ValueError("the day of week 7 is not known: Sunday is 0")
    fields = ["*" if field == "?" else field for field in fields]
    fields[2] = re.sub(r"^\*(?=/)", "1-31", fields[2])
    fields[4] = re.sub(r"^\*(?=/)", "0-6", fields[4])
    return " ".join(fields)


def _duration(written: object) -> timedelta:
    text = written if isinstance(written, str) and written[-1:].isalpha() else ""
    try:
        duration = timedelta(seconds=seconds(text))
    except (ValueError, OverflowError):
        duration = timedelta()
    if duration <= timedelta():
        raise SyncWindowError(f"duration is {written!r}: expected hours and minutes such as 1h30m")
    return duration


def _zone(written: object) -> ZoneInfo:
    try:
        return ZoneInfo(str(written))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise SyncWindowError(
            f"timeZone is {written!r}: expected a name of the IANA database such as Europe/Berlin"
        ) from None


def utc_text(time: datetime) -> str:
    """Write a time for a message, to the minute."""
    return time.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
