"""Telling: at the start of an act, what a sudden end has left unsaid.

Before any room is open: what the Applications note of their last write is held beside what the
stream of facts heard last. One read of the last fact of each kind and application, nothing while
all goes well. Another end in the midst of it is no harm: a fact that is told again has its old id.
"""

from __future__ import annotations

from collections.abc import Iterator

import structlog

from agent.store.applications import Applications
from agent.store.refs import RefNotes
from bus.events import AppDeleted, Compared, RevisionResolved
from bus.events.facts import AppFact
from bus.identity import token_of
from bus.jetstream import Bus
from handlers.tell.note import ANNOTATION, NOTED
from handlers.tell.unsaid import Memory, Told, unsaid, unsaid_deletions

log = structlog.get_logger()

_HEARD = (*NOTED, Compared, AppDeleted)
"""`Compared` tells of applications of which nothing else was ever said."""


async def tell_unsaid(bus: Bus, applications: Applications, namespace: str) -> None:
    """Raises CarrierError where the bus cannot say what it has heard."""
    memory = await _memory(bus)
    missing = tuple(_missing(applications, namespace, memory))
    for message_id, fact in missing:
        await bus.publish(fact, message_id=message_id)
    if missing:
        log.info("told what was left unsaid", facts=len(missing))


async def recall_revisions(bus: Bus, refs: RefNotes) -> None:
    """What was said of target revisions, so that it is not said again by looking again."""
    async with bus.kept_facts(RevisionResolved) as facts:
        async for _, fact in facts:
            if isinstance(fact, RevisionResolved):
                refs.heard(fact.repository, fact.target_revision, fact.revision)


async def _memory(bus: Bus) -> Memory:
    oldest = await bus.oldest_fact()
    if oldest is None:
        return Memory.of(None, ())
    async with bus.latest_facts(*_HEARD) as facts:
        told = [
            Told(at=envelope.time, fact=fact)
            async for envelope, fact in facts
            if isinstance(fact, AppFact)
        ]
    return Memory.of(oldest.time, told)


def _missing(
    applications: Applications, namespace: str, memory: Memory
) -> Iterator[tuple[str, AppFact]]:
    """Each with the id under which the bus takes it once."""
    apps = applications.all()
    for app in apps:
        for place, fact in unsaid(app, memory):
            note = token_of(app.metadata.annotations[ANNOTATION])
            yield f"said:{app.metadata.uid}:{note}:{place}", fact
    for last in unsaid_deletions(namespace, (app.key for app in apps), memory):
        yield f"gone:{last.fact.app}:{last.at.isoformat()}", last.fact
