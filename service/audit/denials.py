"""Denials in the audit: at most one record a minute for each actor, action and rule.

The first denial is recorded at once. Later ones are counted, and one record with the count and the
first and last time is written when the minute is over, or when the service ends. The counts of all
records of a key add up to what was refused. Each replica counts its own denials.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog
from msgspec.structs import replace
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.identity import new_id
from service.audit import audit_book
from service.audit.audit_record import AuditEntry

log = structlog.get_logger()

WINDOW = timedelta(minutes=1)
_LOOK_SECONDS = 5.0

_Key = tuple[str, str, str, str]


@dataclass(slots=True)
class _Counted:
    """What was refused since the last record of its key."""

    recorded: datetime
    count: int = 0
    first: datetime | None = None
    last: AuditEntry | None = None


@dataclass(slots=True)
class DenialRecorder:
    _counted: dict[_Key, _Counted] = field(default_factory=dict)

    def note(self, entry: AuditEntry, rule: str) -> AuditEntry | None:
        """Note a refusal; return the entry that is to be recorded now, None where it is counted."""
        key = (entry.account, entry.actor, entry.action, rule)
        known = self._counted.get(key)
        if known is None:
            self._counted[key] = _Counted(entry.time)
            return entry
        known.count += 1
        known.first = known.first or entry.time
        known.last = entry
        return None

    def due(self, now: datetime) -> Sequence[AuditEntry]:
        """Take the records of the minutes that are over; a key without any since is forgotten."""
        return self._taken(now, now - WINDOW)

    def rest(self, now: datetime) -> Sequence[AuditEntry]:
        """Take the records of all that is counted and not recorded."""
        return self._taken(now, now)

    def put_back(self, entries: Sequence[AuditEntry]) -> None:
        """Count again the records of `due` or `rest` that could not be written."""
        for entry in entries:
            key = (entry.account, entry.actor, entry.action, entry.detail["rule"])
            known = self._counted.setdefault(key, _Counted(entry.time))
            known.count += entry.detail["count"]
            known.first = datetime.fromisoformat(entry.detail["first"])
            known.last = known.last or entry

    def _taken(self, now: datetime, before: datetime) -> Sequence[AuditEntry]:
        made = []
        for key, known in list(self._counted.items()):
            if known.recorded > before:
                continue
            if known.last is None:
                del self._counted[key]
                continue
            made.append(_summed(known.last, known, key[3], now))
            self._counted[key] = _Counted(now)
        return made


def _summed(last: AuditEntry, known: _Counted, rule: str, now: datetime) -> AuditEntry:
    first = known.first or last.time
    detail = {
        "count": known.count,
        "rule": rule,
        "first": first.isoformat(),
        "last": last.time.isoformat(),
    }
    return replace(last, id=new_id(), time=now, detail=detail)


async def recording(
    engine: AsyncEngine, denials: DenialRecorder, clock: Callable[[], datetime]
) -> None:
    """Record what is due, and at the end all the rest."""
    try:
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await record(engine, denials, denials.due(clock()))
    finally:
        await record(engine, denials, denials.rest(clock()))


async def record(
    engine: AsyncEngine, denials: DenialRecorder, entries: Sequence[AuditEntry]
) -> None:
    """One transaction for each account; what fails is counted again."""
    for account in dict.fromkeys(entry.account for entry in entries):
        mine = [entry for entry in entries if entry.account == account]
        try:
            async with engine.begin() as connection:
                await audit_book.record_all(connection, mine)
        except (SQLAlchemyError, OSError) as error:
            log.warning("denials could not be recorded", count=len(mine), cause=str(error)[:200])
            denials.put_back(mine)
