"""The leader tasks run only where the agent holds the Lease: handlers, polling, watch events.

Before any handler runs, the startup replay publishes the facts that a crash left unpublished. On
`stop` the leader tasks drain: the inboxes take no more, the lanes finish or meet the deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from random import Random
from typing import Any

import structlog

from agent.clock import SystemClock
from agent.dependencies import AgentDependencies
from agent.ingress.object_facts import ObjectFacts
from agent.ingress.pending_asks import PendingAsks
from agent.ingress.poll_timer import PollTimer, Schedule
from agent.ingress.tracked_applications import TrackedApplications
from agent.ingress.window_timer import WindowTimer
from agent.observe.dispatch_observer import DispatchObserver
from agent.plugins.plugin_watch import PluginWatch
from agent.startup_replay import publish_unpublished, recall_revisions
from agent.watch_subscriptions import WatchSubscriptions
from agent.wiring import build_bridge, build_handlers
from bus.dispatch import always
from bus.dispatcher import Dispatcher
from bus.jetstream import Bus, DispatchOptions
from bus.jetstream.provisioner import ProvisionError
from bus.route import Route
from handlers.routes import routes

log = structlog.get_logger()

_RETRIES, _AGAIN = 2, 1.0
Helper = tuple[str, Callable[[], Coroutine[Any, Any, None]]]
"""A task to run beside the handlers, by its name."""


async def provision(
    bus: Bus, plan: Sequence[Route] = (), may_act: Callable[[], bool] = always
) -> None:
    """Provision the bus, again where it goes away meanwhile; raises ProvisionError at last."""
    for _ in range(_RETRIES):
        try:
            await bus.provision(plan, may_act)
        except ProvisionError as error:
            log.warning("bus not provisioned, tried again", reason=str(error))
            await asyncio.sleep(_AGAIN)
        else:
            return
    await bus.provision(plan, may_act)


async def run_leader_tasks(
    parts: AgentDependencies, stop: asyncio.Event, acting: asyncio.Event
) -> None:
    """Run until `stop` is set and the lanes are drained; `acting` is set while handlers run."""
    plan = handler_routes(parts)
    await provision(parts.bus, plan, lambda: parts.ownership.fence.is_open)
    await recall_revisions(parts.bus, parts.refs)
    await publish_unpublished(parts.bus, parts.applications, parts.settings.namespace)
    dispatcher = dispatcher_of(parts, plan)
    await run_dispatcher(parts, dispatcher, stop, acting)


def handler_routes(parts: AgentDependencies) -> tuple[Route, ...]:
    return routes(build_handlers(parts))


def dispatcher_of(
    parts: AgentDependencies, plan: Sequence[Route], *, divided: bool = False
) -> Dispatcher:
    observer = DispatchObserver(metrics=parts.metrics, spans=parts.spans)
    return parts.bus.dispatcher(plan, observer, _options(parts), divided=divided)


async def run_dispatcher(
    parts: AgentDependencies,
    dispatcher: Dispatcher,
    stop: asyncio.Event,
    acting: asyncio.Event,
    *beside: Helper,
) -> None:
    """Run the handlers until they are drained, and what brings them their events `beside` them."""
    pending = PendingAsks(
        parts.bus.publish, parts.task_traces.trace_of, lambda event: parts.ownership.owns(event.key)
    )
    object_facts = ObjectFacts(parts.bus.publish, parts.metrics.object_facts_left_out)
    subscriptions = _subscriptions(parts, pending, object_facts)
    async with asyncio.TaskGroup() as tasks:
        helpers = [
            tasks.create_task(pending.run(), name="pending-asks"),
            tasks.create_task(object_facts.run(), name="object-facts"),
            tasks.create_task(poll_timer(parts).run(), name="poll-timer"),
            tasks.create_task(window_timer(parts).run(), name="window-timer"),
            tasks.create_task(plugin_watch(parts, pending).run(), name="plugin-watch"),
            tasks.create_task(parts.store.run(), name="store-usage"),
            tasks.create_task(_stop(dispatcher, stop), name="drain-on-stop"),
        ]
        if parts.settings.link.url:
            helpers.append(tasks.create_task(build_bridge(parts).run(), name="bridge"))
        with subscriptions.open():
            acting.set()
            parts.readiness.changes.notify()
            log.info("acting", applications=len(parts.applications.all()))
            helpers += [tasks.create_task(run(), name=name) for name, run in beside]
            await dispatcher.run()
        acting.clear()
        parts.readiness.changes.notify()
        for helper in helpers:
            helper.cancel()


def _subscriptions(
    parts: AgentDependencies, pending: PendingAsks, object_facts: ObjectFacts
) -> WatchSubscriptions:
    tracked = TrackedApplications(
        applications=parts.applications,
        clusters=parts.clusters,
        control_namespace=parts.settings.namespace,
    )
    return WatchSubscriptions(
        secrets=parts.secrets,
        signing_keys=parts.signing_keys,
        demand=parts.prover.demand,
        applications=parts.applications,
        clusters=parts.clusters,
        ownership=parts.ownership,
        pending=pending,
        policy=parts.policy,
        settings=parts.argo_settings,
        governance=parts.governance,
        tracked=tracked,
        object_facts=object_facts if parts.settings.facts.objects else None,
        metrics=parts.metrics,
    )


def poll_timer(parts: AgentDependencies) -> PollTimer:
    poll = parts.settings.poll

    def interval() -> float:
        asked = parts.argo_settings.now.poll_interval
        return poll.interval if asked is None else asked

    schedule = Schedule(
        interval=poll.interval,
        jitter=poll.jitter,
        random=Random(),  # noqa: S311  spreads load, guards nothing
    )
    return PollTimer(
        apps=parts.in_use,
        publish=parts.bus.publish,
        schedule=schedule,
        interval=interval,
        part_of=parts.parts_of_repositories.of_poll,
    )


def plugin_watch(parts: AgentDependencies, pending: PendingAsks) -> PluginWatch:
    return PluginWatch(
        plugins=parts.plugins,
        apps=parts.applications.all,
        put=pending.put,
        metrics=parts.metrics,
    )


def window_timer(parts: AgentDependencies) -> WindowTimer:
    return WindowTimer(
        apps=parts.applications,
        owns=parts.ownership.owns,
        publish=parts.bus.publish,
        clock=SystemClock(),
        settings_changes=parts.argo_settings.changes,
    )


def _options(parts: AgentDependencies) -> DispatchOptions:
    settings = parts.settings
    return DispatchOptions(
        concurrency=settings.concurrency,
        drain_seconds=settings.drain_deadline,
        may_act=lambda: parts.ownership.fence.is_open,
    )


async def _stop(dispatcher: Dispatcher, stop: asyncio.Event) -> None:
    await stop.wait()
    dispatcher.stop()
