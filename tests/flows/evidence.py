"""What an agent leaves behind for others to see: facts, dead letters, streams, logs, conditions.

Fault tests look here and nowhere else, because this is what a person has.
"""

import io
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

import nats.js.errors
import structlog

from agent.observe.logs import configure
from bus.events import Event
from bus.jetstream import Bus
from bus.status import ResultStatus
from bus.topology import streams
from tests.support import eventually

E = TypeVar("E", bound=Event)

BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)


async def facts(bus: Bus, kind: type[E]) -> list[E]:
    """Every fact of this kind until now, as a subscriber reads them."""
    async with bus.facts(since=BEGINNING, follow=False) as reader:
        return [fact async for _, fact in reader if isinstance(fact, kind)]


async def a_fact(bus: Bus, kind: type[E], **fields: object) -> E:
    """The first of its kind with these fields, waited for: a status is written before."""

    async def logged() -> Sequence[E]:
        return [one for one in await facts(bus, kind) if _has(one, fields)]

    return (await eventually(logged, what=f"{kind.__name__} with {fields}"))[0]


async def dead_letters(bus: Bus) -> list[Mapping[str, str]]:
    """Their headers: the handler, the reason, the subject it came by."""
    return [headers for headers, _ in await messages(bus, "DEAD")]


async def waiting(bus: Bus, stream: str) -> int:
    """How many messages a stream holds."""
    info = await bus.connection.jetstream.stream_info(bus.scope.name(stream))
    return info.state.messages


async def messages(bus: Bus, stream: str) -> list[tuple[Mapping[str, str], bytes]]:
    """Headers and bytes of everything in a stream, by its sequence numbers."""
    name, jetstream = bus.scope.name(stream), bus.connection.jetstream
    state = (await jetstream.stream_info(name)).state
    found: list[tuple[Mapping[str, str], bytes]] = []
    for number in range(max(state.first_seq, 1), state.last_seq + 1):
        try:
            message = await jetstream.get_msg(name, number)
        except nats.js.errors.NotFoundError:
            continue
        found.append((message.headers or {}, message.data or b""))
    return found


async def carried(bus: Bus) -> str:
    """All that the streams of this agent hold, as one text: where a secret must not be found."""
    kinds = [plan.name.rpartition("-")[2] for plan in streams(bus.scope)]
    return "\n".join([repr(await messages(bus, kind)) for kind in kinds])


@contextmanager
def logged() -> Iterator[io.StringIO]:
    """Every line that the agent logs inside the block, as production writes it, debug included."""
    root, text = logging.getLogger(), io.StringIO()
    before, handlers, level = structlog.get_config(), root.handlers, root.level
    configure("debug", "json", text)
    try:
        yield text
    finally:
        structlog.configure(**before)
        root.handlers, root.level = handlers, level


def results(app: Mapping[str, Any]) -> dict[str, str]:
    """Name -> message of the last operation's objects."""
    return {one["name"]: one["message"] for one in _resources(app)}


def refused(app: Mapping[str, Any]) -> dict[str, str]:
    """Name -> why, of the objects that the last operation could not sync."""
    return {
        one["name"]: one["message"]
        for one in _resources(app)
        if one["status"] == ResultStatus.SYNC_FAILED
    }


def phase(app: Mapping[str, Any]) -> str:
    return str(app.get("status", {}).get("operationState", {}).get("phase", ""))


def ended(app: Mapping[str, Any]) -> bool:
    return phase(app) in ("Succeeded", "Failed", "Error")


def _has(fact: Event, fields: Mapping[str, object]) -> bool:
    return all(getattr(fact, name) == value for name, value in fields.items())


def _resources(app: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    state = app.get("status", {}).get("operationState", {})
    found: Sequence[Mapping[str, Any]] = state.get("syncResult", {}).get("resources", ())
    return found
