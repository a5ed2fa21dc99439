"""Events from the service of the login: replayed, then followed.

The replay reads facts of the timeline, and following reads the whole change feed; both have one
form. A cut stream is continued after the id of its last event, so no event is missed or printed
twice.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cli import output
from cli.output import Exit
from cli.remote import change_waiting, find
from cli.remote.change_waiting import ServerEvent
from cli.remote.errors import ServiceError
from cli.remote.formatting import parsed_time
from cli.remote.service_client import ServiceClient
from cli.timeline import FACT, TimelineEntry, TimelinePrinter

_AGAIN_FIRST, _AGAIN_LONGEST = 1.0, 30.0
_LOGIN_ENDED = "the login has ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRange:
    """The range of events: `since` is a time (empty: no replay), `last` an event's id."""

    app: str = ""
    types: frozenset[str] = frozenset()
    since: str = ""
    last: str = ""
    follow: bool = False
    as_json: bool = False


@dataclass(slots=True)
class EventOutput:
    """Print each entry once; `last` is the id to continue a cut stream after."""

    client: ServiceClient
    selection: EventRange
    last: str = ""
    _replayed: set[str] = field(default_factory=set)
    """Ids of facts, which the change feed may bring once more."""
    _printer: TimelinePrinter = field(default_factory=TimelinePrinter)

    async def run(self) -> Exit:
        id_ = (
            (await find.application(self.client, self.selection.app)).id
            if self.selection.app
            else ""
        )
        if not self.selection.follow:
            await self._replay(id_)
            return Exit.FINE
        self.last, pause = self.selection.last, _AGAIN_FIRST
        while True:
            before = self.last
            try:
                await self._follow(id_)
            except ServiceError as e:
                if e.code is not Exit.REFUSED or not self.last:
                    raise
                output.complain(f"{e} Trying again.")
            pause = _AGAIN_FIRST if self.last != before else min(pause * 2, _AGAIN_LONGEST)
            await asyncio.sleep(pause)

    async def _replay(self, application: str) -> None:
        if not self.selection.since:
            return
        query = {"since": self.selection.since, "application": application}
        found = [of_fact(it) async for it in self.client.pages("/timeline", query)]
        for entry in reversed(found):
            self._replayed.add(entry.id)
            self._show(entry)

    async def _follow(self, application: str) -> None:
        """Open the stream, then read the past, and drop the entries that come in both."""
        headers = {"Last-Event-ID": self.last} if self.last else {}
        query = {"application": application}
        async with self.client.open("/events", query, headers) as response:
            async for event in change_waiting.read_events(aiter(response.content)):
                await self._hear(event, application)

    async def _hear(self, event: change_waiting.ServerEvent, application: str) -> None:
        match event.name:
            case "hello":
                if not self.last:
                    await self._replay(application)
            case "gap":
                output.complain("events before these are not kept any more")
            case "end":
                _ended(str(event.data.get("reason", "")))
            case _:
                entry = of_event(event)
                if entry.id not in self._replayed:
                    self._show(entry)
        self.last = event.id or self.last

    def _show(self, entry: TimelineEntry) -> None:
        if not entry.fits(self.selection.types):
            return
        if self.selection.as_json:
            output.line(entry.structured)
        else:
            output.text(self._printer.line(entry))


def _ended(reason: str) -> None:
    if reason == _LOGIN_ENDED:
        raise ServiceError(f"{reason}. Log in: gitops login URL", Exit.FORBIDDEN)


_FACT = "fact"


def of_event(event: ServerEvent) -> TimelineEntry:
    """Make the entry of an event of the change feed; `position` is what --last-event-id takes."""
    data = event.data
    body = data.get("body") or {}
    fields = {**data, "type": event.name, "body": body}
    if event.name == _FACT:
        fields = {**body, "type": _wire_type(body)}
    extensions = {"project": data.get("project"), "position": event.id}
    return _entry(str(data.get("agent") or ""), fields, str(body.get("id") or event.id), extensions)


def of_fact(fact: Mapping[str, Any]) -> TimelineEntry:
    """Make the entry of a fact of the timeline, which has no position in the change feed."""
    id_ = str(fact.get("eventId") or fact["id"])
    fields = {**fact, "type": _wire_type(fact)}
    return _entry(str(fact["agent"]), fields, id_, {"project": fact["project"]})


def _wire_type(fact: Mapping[str, Any]) -> str:
    """The type on the wire: the timeline leaves out its kind, the change feed has it."""
    return FACT + str(fact.get("type", "")).removeprefix(FACT)


def _entry(
    agent: str, fields: Mapping[str, Any], id_: str, more: Mapping[str, object]
) -> TimelineEntry:
    return TimelineEntry(
        id=id_,
        source=f"/agents/{agent}",
        type=str(fields.get("type", "")),
        subject=str(fields.get("subject", "")),
        time=parsed_time(str(fields.get("time") or "")),
        correlation=str(fields.get("correlation") or ""),
        data=fields.get("body") or {},
        more={name: str(it) for name, it in more.items() if it},
    )
