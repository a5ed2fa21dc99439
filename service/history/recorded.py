"""Audit records of what agents tell: every sync that ended, every drift that began or ended. Pure.

Ids are made from the fact or the drift, so what is told twice is recorded once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bus.events import OperationFinished, OperationStarted
from service.audit.record import Entry, Source, deterministic_id
from service.history.keep import Kept
from service.history.ledger import Drift
from service.history.said import Said
from service.projection.values import Scope

AUTOMATED = "automated sync"


def entries(
    scope: Scope, facts: Iterable[Said], kept: Kept, actors: Mapping[str, str]
) -> Iterator[Entry]:
    """`actors`: who began an operation, by its id."""
    for one in facts:
        if isinstance(one.fact, OperationFinished):
            yield _synced(scope, one, one.fact, actors)
    for drift in kept.began:
        yield _drifted(scope, drift, "drift.began")
    for drift in kept.ended:
        yield _drifted(scope, drift, "drift.ended")


def actors_of(facts: Iterable[Said]) -> dict[str, str]:
    started = (one.fact for one in facts)
    return {
        it.operation: it.initiated_by or AUTOMATED
        for it in started
        if isinstance(it, OperationStarted)
    }


def _synced(scope: Scope, one: Said, fact: OperationFinished, actors: Mapping[str, str]) -> Entry:
    known = AUTOMATED if fact.automated else actors.get(fact.operation, "")
    return Entry(
        account=scope.account_id,
        id=deterministic_id(scope.account_id, scope.agent_id, "sync", one.id),
        time=one.time,
        actor=(known or f"agent {scope.agent}")[:200],
        action="application.synced",
        resource=_resource(scope, one.subject),
        project=one.project,
        outcome=fact.phase.value.lower(),
        source=Source.AGENT,
        detail={
            "operation": fact.operation[:64],
            "revision": fact.revision[:64],
            "automated": fact.automated,
            "message": fact.message[:500],
        },
    )


def _drifted(scope: Scope, drift: Drift, action: str) -> Entry:
    ended = action == "drift.ended"
    time = drift.ended_at if ended and drift.ended_at is not None else drift.began_at
    return Entry(
        account=scope.account_id,
        id=deterministic_id(scope.account_id, drift.id, action, time.isoformat()),
        time=time,
        actor=drift.actor or "unknown",
        action=action,
        resource=_resource(scope, drift.subject),
        project=drift.project,
        outcome=drift.ended_how if ended else "open",
        source=Source.AGENT,
        detail={"drift": drift.id, "object": drift.object, "fields": list(drift.fields)},
    )


def _resource(scope: Scope, subject: str) -> str:
    return f"application {scope.agent}/{subject}"
