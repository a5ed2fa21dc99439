"""The event stream: `GET /events` sends the change feed as server-sent events."""

from __future__ import annotations

from typing import Annotated

import msgspec
from aiohttp import web

from bus.http.budget import Budget
from service.http.call import CLOCK, ENGINE, ApiCall
from service.http.endpoint import Endpoint, OpenAccess, RequestModel
from service.http.fields import Text
from service.http.problem import HEADERS, DeniedError, ProblemError, invalid
from service.http.stream_access import STREAM_ACCESS
from service.live.change_event import ChangePayload, EventFilters, EventVisibility
from service.live.event_stream import EventStream
from service.live.listener_hub import Listener, ListenerHub

LISTENER_HUB = web.AppKey("listener_hub", ListenerHub)
_LARGEST = 2**63 - 1


class EventsQuery(RequestModel, frozen=True, kw_only=True):
    """`types`: separated by commas; `application`: its id, or `namespace/name`."""

    types: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    project: Text = ""
    agent: Text = ""
    application: Annotated[str, msgspec.Meta(max_length=400)] = ""
    environment: Text = ""
    region: Text = ""
    last_event_id: Annotated[str, msgspec.Meta(max_length=20)] = ""
    """For who cannot set the header."""


async def events(call: ApiCall, params: EventsQuery) -> web.StreamResponse:
    """Stream the events that follow, or those since Last-Event-ID, as server-sent events."""
    slots = call.use(LISTENER_HUB).slots
    last = _last(call.request.headers.get("Last-Event-ID") or params.last_event_id)
    _take_slot(slots, call.caller.id)
    try:
        return await _streamed(call, params, last)
    finally:
        slots.give_back(call.caller.id)


async def _streamed(call: ApiCall, params: EventsQuery, last: int | None) -> web.StreamResponse:
    await call.release()
    response = web.StreamResponse(headers={**HEADERS, "X-Accel-Buffering": "no"})
    response.content_type = "text/event-stream"
    await response.prepare(call.request)
    listener = Listener(
        account=call.account,
        view=EventVisibility.of(call.caller.bindings),
        filters=_filters(params),
    )

    async def still_sees(now: ApiCall) -> None:
        """What is gained is seen at once; what is lost ends the stream, and another begins."""
        view = EventVisibility.of(now.caller.bindings)
        if not view.includes(listener.view):
            raise DeniedError("events.read", "events")
        listener.view = view

    stream = EventStream(
        engine=call.use(ENGINE),
        hub=call.use(LISTENER_HUB),
        clock=call.use(CLOCK),
        listener=listener,
        response=response,
    )
    reason = await call.use(STREAM_ACCESS).while_allowed(call, still_sees, lambda: stream.run(last))
    if reason:
        await stream.end(reason)
    return response


def _take_slot(slots: Budget, principal: str) -> None:
    if slots.take(principal):
        return
    if slots.held(principal) >= slots.share:
        detail = f"you listen {slots.share} times already, the most that one may"
        remedy = "End a stream that you do not need; one stream can carry all types."
        raise ProblemError(429, detail, rule="listeners", remedy=remedy)
    raise ProblemError(503, "too many listen already", rule="listeners", remedy="Try later.")


def _filters(params: EventsQuery) -> EventFilters:
    return EventFilters(
        types=frozenset(filter(None, params.types.split(","))),
        project=params.project,
        agent=params.agent,
        application=params.application,
        environment=params.environment,
        region=params.region,
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
        needs=OpenAccess.LOGGED_IN,
        handler=events,
        takes=EventsQuery,
        gives=ChangePayload,
        media="text/event-stream",
    ),
)
