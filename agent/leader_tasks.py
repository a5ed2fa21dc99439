"""The leader tasks run only where the agent holds the Lease: handlers, polling, watch events.

Before any handler runs, the startup replay publishes the facts that a crash left unpublished. On
`stop` the leader tasks drain: the inboxes take no more, the lanes finish or meet the deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from random import Random

import structlog

from agent.clock import SystemClock
from agent.dependencies import AgentDependencies
from agent.git.refs import ResolvedRefs
from agent.ingress.object_facts import ObjectFacts
from agent.ingress.pending_asks import PendingAsks
from agent.ingress.poll_timer import PollTimer, Schedule
from agent.ingress.tracked_applications import TrackedApplications
from agent.ingress.window_timer import WindowTimer
from agent.observe.dispatch_observer import DispatchObserver
from agent.store.applications import Applications
from agent.watch_subscriptions import WatchSubscriptions
from agent.wiring import build_bridge, build_handlers
from bus.dispatcher import Dispatcher
from bus.events import AppDeleted, Compared, RevisionResolved
from bus.events.facts import AppFact
from bus.identity import token_of
from bus.jetstream import Bus, DispatchOptions
from bus.jetstream.provisioner import ProvisionError
from bus.route import Route
from handlers.fact_journal import (
    NOTED,
    PublishedFact,
    PublishedFacts,
    journal_entry,
    unpublished,
    unpublished_deletions,
)
from handlers.routes import routes

log = structlog.get_logger()

_RETRIES, _AGAIN = 2, 1.0
_PUBLISHED = (*NOTED, Compared, AppDeleted)
"""`Compared` covers applications that have no other fact."""


async def provision(bus: Bus, plan: Sequence[Route]) -> None:
    """Provision the bus, again where it goes away meanwhile; raises ProvisionError at last."""
    for _ in range(_RETRIES):
        try:
            await bus.provision(plan)
        except ProvisionError as error:
            log.warning("bus not provisioned, tried again", reason=str(error))
            await asyncio.sleep(_AGAIN)
        else:
            return
    await bus.provision(plan)


async def run_leader_tasks(
    parts: AgentDependencies, stop: asyncio.Event, acting: asyncio.Event
) -> None:
    """Run until `stop` is set and the lanes are drained; `acting` is set while handlers run."""
    plan = routes(build_handlers(parts))
    await provision(parts.bus, plan)
    await recall_revisions(parts.bus, parts.refs)
    await publish_unpublished(parts.bus, parts.applications, parts.settings.namespace)
    observer = DispatchObserver(metrics=parts.metrics, spans=parts.spans)
    dispatcher = parts.bus.dispatcher(plan, observer, _options(parts))
    pending = PendingAsks(parts.bus.publish, parts.task_traces.trace_of)
    object_facts = ObjectFacts(parts.bus.publish, parts.metrics.object_facts_left_out)
    tracked = TrackedApplications(
        applications=parts.applications,
        clusters=parts.clusters,
        control_namespace=parts.settings.namespace,
    )
    subscriptions = WatchSubscriptions(
        applications=parts.applications,
        clusters=parts.clusters,
        pending=pending,
        policy=parts.policy,
        settings=parts.argo_settings,
        governance=parts.governance,
        tracked=tracked,
        object_facts=object_facts if parts.settings.facts.objects else None,
        metrics=parts.metrics,
    )
    async with asyncio.TaskGroup() as tasks:
        helpers = [
            tasks.create_task(pending.run(), name="pending-asks"),
            tasks.create_task(object_facts.run(), name="object-facts"),
            tasks.create_task(poll_timer(parts).run(), name="poll-timer"),
            tasks.create_task(window_timer(parts).run(), name="window-timer"),
            tasks.create_task(parts.store.run(), name="store-usage"),
            tasks.create_task(_stop(dispatcher, stop), name="drain-on-stop"),
        ]
        if parts.settings.link.url:
            helpers.append(tasks.create_task(build_bridge(parts).run(), name="bridge"))
        with subscriptions.open():
            acting.set()
            parts.readiness.changes.notify()
            log.info("acting", applications=len(parts.applications.all()))
            await dispatcher.run()
        acting.clear()
        parts.readiness.changes.notify()
        for helper in helpers:
            helper.cancel()


def poll_timer(parts: AgentDependencies) -> PollTimer:
    poll = parts.settings.poll
    schedule = Schedule(
        interval=poll.interval,
        jitter=poll.jitter,
        random=Random(),  # noqa: S311  spreads load, guards nothing
    )
    return PollTimer(apps=parts.applications, publish=parts.bus.publish, schedule=schedule)


def window_timer(parts: AgentDependencies) -> WindowTimer:
    return WindowTimer(
        apps=parts.applications,
        publish=parts.bus.publish,
        clock=SystemClock(),
        settings_changes=parts.argo_settings.changes,
    )


def _options(parts: AgentDependencies) -> DispatchOptions:
    settings = parts.settings
    return DispatchOptions(concurrency=settings.concurrency, drain_seconds=settings.drain_deadline)


async def _stop(dispatcher: Dispatcher, stop: asyncio.Event) -> None:
    await stop.wait()
    dispatcher.stop()


async def publish_unpublished(bus: Bus, applications: Applications, namespace: str) -> None:
    """Publish the facts that a crash left unpublished; CarrierError if that cannot be found out.

    The journal annotation of each Application (its last write) is compared with the last fact
    of each type in the stream. A crash during the replay does no harm: a fact that is published
    again has its old id.
    """
    memory = await _memory(bus)
    missing = tuple(_missing(applications, namespace, memory))
    for message_id, fact in missing:
        await bus.publish(fact, message_id=message_id)
    if missing:
        log.info("published what a crash left unpublished", facts=len(missing))


async def recall_revisions(bus: Bus, refs: ResolvedRefs) -> None:
    """Recall the published target revisions, so that the next refresh does not repeat them."""
    async with bus.kept_facts(RevisionResolved) as facts:
        async for _, fact in facts:
            if isinstance(fact, RevisionResolved):
                refs.recall_published(fact.repository, fact.target_revision, fact.revision)


async def _memory(bus: Bus) -> PublishedFacts:
    oldest = await bus.oldest_fact()
    if oldest is None:
        return PublishedFacts.of(None, ())
    async with bus.latest_facts(*_PUBLISHED) as facts:
        published = [
            PublishedFact(at=envelope.time, fact=fact)
            async for envelope, fact in facts
            if isinstance(fact, AppFact)
        ]
    return PublishedFacts.of(oldest.time, published)


def _missing(
    applications: Applications, namespace: str, memory: PublishedFacts
) -> Iterator[tuple[str, AppFact]]:
    """Pair each missing fact with the message id that makes its publishing idempotent."""
    apps = applications.all()
    for app in apps:
        for place, fact in unpublished(app, memory):
            entry = journal_entry(app)
            note = token_of(entry.text if entry is not None else "")
            yield f"said:{app.metadata.uid}:{note}:{place}", fact
    for last in unpublished_deletions(namespace, (app.key for app in apps), memory):
        yield f"gone:{last.fact.app}:{last.at.isoformat()}", last.fact
