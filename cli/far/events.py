"""What happens, by way of the service one is logged in to: replayed, then followed as it comes.

Replayed are the facts of the timeline; followed is the whole change feed; both in one form. A
cut stream is taken up again by the id of the last event, so nothing is missed and nothing twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from cli import say
from cli.far import find, sse
from cli.far.client import Far
from cli.far.errors import FarError
from cli.far.timeline_entries import of_event, of_fact
from cli.say import Exit
from cli.timeline import TimelineEntry, TimelinePrinter

_AGAIN_FIRST, _AGAIN_LONGEST = 1.0, 30.0
_LOGIN_ENDED = "the login has ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`since`: as the service reads times, empty: nothing is replayed; `last`: an event's id."""

    app: str = ""
    types: frozenset[str] = frozenset()
    since: str = ""
    last: str = ""
    follow: bool = False
    as_json: bool = False


@dataclass(slots=True)
class Telling:
    """Prints each entry once; `last` is where to take up a stream that was cut."""

    far: Far
    wanted: Wanted
    last: str = ""
    _replayed: set[str] = field(default_factory=set)
    """Ids of facts, which the change feed may bring once more."""
    _printer: TimelinePrinter = field(default_factory=TimelinePrinter)

    async def run(self) -> Exit:
        id_ = (await find.application(self.far, self.wanted.app)).id if self.wanted.app else ""
        if not self.wanted.follow:
            await self._replay(id_)
            return Exit.FINE
        self.last, pause = self.wanted.last, _AGAIN_FIRST
        while True:
            before = self.last
            try:
                await self._follow(id_)
            except FarError as e:
                if e.code is not Exit.REFUSED or not self.last:
                    raise
                say.complain(f"{e} Trying again.")
            pause = _AGAIN_FIRST if self.last != before else min(pause * 2, _AGAIN_LONGEST)
            await asyncio.sleep(pause)

    async def _replay(self, application: str) -> None:
        if not self.wanted.since:
            return
        query = {"since": self.wanted.since, "application": application}
        found = [of_fact(it) async for it in self.far.pages("/timeline", query)]
        for entry in reversed(found):
            self._replayed.add(entry.id)
            self._tell(entry)

    async def _follow(self, application: str) -> None:
        """The stream is opened first, then the past is read, then what comes in both is dropped."""
        headers = {"Last-Event-ID": self.last} if self.last else {}
        query = {"application": application}
        async with self.far.open("/events", query, headers) as response:
            async for event in sse.told(aiter(response.content)):
                await self._hear(event, application)

    async def _hear(self, event: sse.Told, application: str) -> None:
        match event.name:
            case "hello":
                if not self.last:
                    await self._replay(application)
            case "gap":
                say.complain("events before these are not kept any more")
            case "end":
                _ended(str(event.data.get("reason", "")))
            case _:
                entry = of_event(event)
                if entry.id not in self._replayed:
                    self._tell(entry)
        self.last = event.id or self.last

    def _tell(self, entry: TimelineEntry) -> None:
        if not entry.fits(self.wanted.types):
            return
        if self.wanted.as_json:
            say.line(entry.structured)
        else:
            say.text(self._printer.line(entry))


def _ended(reason: str) -> None:
    if reason == _LOGIN_ENDED:
        raise FarError(f"{reason}. Log in: gitops login URL", Exit.FORBIDDEN)
