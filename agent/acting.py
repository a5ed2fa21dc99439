"""What only the leader does: run the rooms, poll, and turn what the watches see into asks.

Told to stop, it drains: the inboxes take no more, the lanes finish or meet the deadline.
"""

from __future__ import annotations

import asyncio
from random import Random

import structlog

from agent.bridge.bridge import bridge
from agent.hearing import Hearing
from agent.ingress.pending import PendingAsks
from agent.ingress.timer import PollTimer, Schedule
from agent.observe.observer import HouseObserver
from agent.parts import Parts
from agent.rooms import open_rooms
from agent.telling import recall_revisions, tell_unsaid
from bus.dispatcher import Dispatcher
from bus.events import Event
from bus.jetstream import Bus, DispatchOptions
from bus.trace import Trace
from handlers.routes import house_plan

log = structlog.get_logger()


async def act(parts: Parts, stop: asyncio.Event, acting: asyncio.Event) -> None:
    """Until `stop` is set and the house is drained; `acting` is set while the rooms are open."""
    plan = house_plan(open_rooms(parts))
    await parts.bus.provision(plan)
    await recall_revisions(parts.bus, parts.refs)
    await tell_unsaid(parts.bus, parts.applications, parts.settings.namespace)
    observer = HouseObserver(metrics=parts.metrics, spans=parts.spans)
    dispatcher = parts.bus.dispatcher(plan, observer, _options(parts))
    pending = PendingAsks(parts.bus.publish)
    hearing = Hearing(
        applications=parts.applications,
        index=parts.live.index,
        pending=pending,
        policy=parts.policy,
        settings=parts.argo_settings,
        governance=parts.governance,
        control_namespace=parts.settings.namespace,
        metrics=parts.metrics,
    )
    async with asyncio.TaskGroup() as tasks:
        helpers = [
            tasks.create_task(pending.run(), name="pending-asks"),
            tasks.create_task(poll_timer(parts).run(), name="poll-timer"),
            tasks.create_task(parts.store.run(), name="store-usage"),
            tasks.create_task(_stop(dispatcher, stop), name="drain-on-stop"),
        ]
        if parts.settings.link.url:
            helpers.append(tasks.create_task(bridge(parts), name="bridge"))
        with hearing.open():
            acting.set()
            log.info("acting", applications=len(parts.applications.all()))
            await dispatcher.run()
        acting.clear()
        for helper in helpers:
            helper.cancel()


def poll_timer(parts: Parts) -> PollTimer:
    poll = parts.settings.poll
    schedule = Schedule(
        interval=poll.interval,
        jitter=poll.jitter,
        random=Random(),  # noqa: S311  spreads load, guards nothing
    )
    return PollTimer(apps=parts.applications, publish=Publishing(parts.bus), schedule=schedule)


class Publishing:
    """`Bus.publish` as the front door and the timer want it: once per message id, no answer."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def __call__(
        self, *events: Event, message_id: str = "", trace: Trace | None = None
    ) -> None:
        await self._bus.publish(*events, message_id=message_id, trace=trace)


def _options(parts: Parts) -> DispatchOptions:
    settings = parts.settings
    return DispatchOptions(concurrency=settings.concurrency, drain_seconds=settings.drain_deadline)


async def _stop(dispatcher: Dispatcher, stop: asyncio.Event) -> None:
    await stop.wait()
    dispatcher.stop()
