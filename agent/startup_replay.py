"""The startup replay publishes what a crash left unpublished, before any handler runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import structlog

from agent.git.refs import ResolvedRefs
from agent.store.application_index import everything
from agent.store.applications import Applications
from bus.events import AppDeleted, Compared, RevisionResolved
from bus.events.facts import AppFact
from bus.identity import AppKey, token_of
from bus.jetstream import Bus
from handlers.fact_journal import (
    NOTED,
    PublishedFact,
    PublishedFacts,
    journal_entry,
    unpublished,
    unpublished_deletions,
)

log = structlog.get_logger()

_PUBLISHED = (*NOTED, Compared, AppDeleted)
"""`Compared` covers applications that have no other fact."""


async def publish_unpublished(
    bus: Bus,
    applications: Applications,
    namespace: str,
    is_ours: Callable[[AppKey], bool] = everything,
) -> None:
    """Publish the facts that a crash left unpublished; CarrierError if that cannot be found out.

    The journal annotation of each Application (its last write) is compared with the last fact
    of each type in the stream. A crash during the replay does no harm: a fact that is published
    again has its old id.
    """
    memory = await _memory(bus)
    found = _missing(applications, namespace, memory)
    missing = tuple(one for one in found if is_ours(one[1].app))
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
