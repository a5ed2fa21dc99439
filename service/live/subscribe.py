"""`GET /events`: the change feed as server-sent events."""

from __future__ import annotations

from typing import Annotated

import msgspec
from aiohttp import web

from bus.http.budget import Budget
from service.api.call import Call
from service.api.endpoint import Endpoint, Given, Open
from service.api.fields import Text
from service.api.problem import DeniedError, ProblemError, invalid
from service.api.serve import HEADERS
from service.api.stream_access import while_allowed
from service.live.event import Filters, View
from service.live.hub import Listener
from service.live.stream import Stream

_LARGEST = 2**63 - 1


class EventsQuery(Given, frozen=True, kw_only=True):
    """`types`: separated by commas; `application`: its id, or `namespace/name`."""

    types: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    project: Text = ""
    agent: Text = ""
    application: Annotated[str, msgspec.Meta(max_length=400)] = ""
    environment: Text = ""
    region: Text = ""
    last_event_id: Annotated[str, msgspec.Meta(max_length=20)] = ""
    """For who cannot set the header."""


async def events(call: Call, given: EventsQuery) -> web.StreamResponse:
    """What changes from now on, or since Last-Event-ID, as server-sent events."""
    parts = call.tools.parts
    last = _last(call.request.headers.get("Last-Event-ID") or given.last_event_id)
    _take_place(parts.hub.places, call.caller.id)
    try:
        return await _streamed(call, given, last)
    finally:
        parts.hub.places.give_back(call.caller.id)


async def _streamed(call: Call, given: EventsQuery, last: int | None) -> web.StreamResponse:
    parts = call.tools.parts
    await call.release()
    response = web.StreamResponse(headers={**HEADERS, "X-Accel-Buffering": "no"})
    response.content_type = "text/event-stream"
    await response.prepare(call.request)
    listener = Listener(
        account=call.account, view=View.of(call.caller.bindings), filters=_filters(given)
    )

    async def still_sees(now: Call) -> None:
        """What is gained is seen at once; what is lost ends the stream, and another begins."""
        view = View.of(now.caller.bindings)
        if not view.includes(listener.view):
            raise DeniedError("events.read", "events")
        listener.view = view

    stream = Stream(
        engine=parts.engine,
        hub=parts.hub,
        clock=parts.clock,
        listener=listener,
        response=response,
    )
    reason = await while_allowed(call, still_sees, lambda: stream.run(last))
    if reason:
        await stream.end(reason)
    return response


def _take_place(places: Budget, principal: str) -> None:
    if places.take(principal):
        return
    if places.held(principal) >= places.share:
        detail = f"you listen {places.share} times already, the most that one may"
        remedy = "End a stream that you do not need; one stream can carry all types."
        raise ProblemError(429, detail, rule="listeners", remedy=remedy)
    raise ProblemError(503, "too many listen already", rule="listeners", remedy="Try later.")


def _filters(given: EventsQuery) -> Filters:
    return Filters(
        types=frozenset(filter(None, given.types.split(","))),
        project=given.project,
        agent=given.agent,
        application=given.application,
        environment=given.environment,
        region=given.region,
    )


def _last(text: str) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdecimal()) or int(text) > _LARGEST:
        raise invalid("Last-Event-ID", "expected the id of an event", rule="number")
    return int(text)


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/events",
        needs=Open.LOGGED_IN,
        handler=events,
        takes=EventsQuery,
        media="text/event-stream",
    ),
)
