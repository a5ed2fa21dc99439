"""Changes of a batch: rows of tables and entries of the change feed. Pure.

States are folded in order and the last of each object is written; facts are kept one by one. Of a
quarantined epoch everything is kept under the epoch in `objects`, facts too, and nothing is
announced.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from bus.link.kinds import APPLICATION, COMPONENT
from service.projection.applications import StateChangeTimes, application_id, application_row
from service.projection.batch import Batch, BatchScope, FactRow, ReportedState
from service.store.changes import FeedChange

FACT_KIND = "Fact"
"""Facts of a quarantined epoch wait in `objects` under this kind, until it is believed."""

Key = tuple[str, str]
Rows = list[dict[str, Any]]


class BatchChanges(msgspec.Struct, frozen=True, kw_only=True):
    objects: Rows = []
    gone: list[Key] = []
    """Kind and subject of each object that is no more."""
    applications: Rows = []
    facts: Rows = []
    components: dict[str, dict[str, Any] | None] = {}
    """By name; None: gone."""
    changes: list[FeedChange] = []


def reduce(
    scope: BatchScope, batch: Batch, before: Mapping[str, StateChangeTimes], now: datetime
) -> BatchChanges:
    """Reduce a batch to the rows and feed entries that it changes.

    `before`: states of the batch's applications before it, by subject.
    """
    newest = {(state.kind, state.subject): state for state in batch.states}
    objects = [_object(scope, state, now) for state in newest.values() if state.body is not None]
    gone = [key for key, state in newest.items() if state.body is None]
    if scope.quarantined:
        waiting = [_waiting(scope, fact, now) for fact in batch.facts]
        return BatchChanges(objects=objects + waiting, gone=gone)
    applications = _applications(scope, batch, before)
    found = [row for subject, row in applications.items() if _lives(newest, subject)]
    return BatchChanges(
        objects=objects,
        gone=gone,
        applications=found,
        facts=[_fact(scope, fact, now) for fact in batch.facts],
        components=_components(newest),
        changes=[
            *(
                _state_change(scope, state, applications.get(state.subject))
                for state in newest.values()
            ),
            *(fact_change(scope, fact) for fact in batch.facts),
        ],
    )


def fact_change(scope: BatchScope, fact: FactRow) -> FeedChange:
    return FeedChange(
        type="fact",
        subject=fact.subject,
        project=fact.project,
        agent_id=scope.agent_id,
        body={
            "id": fact.event_id,
            "type": fact.type,
            "subject": fact.subject,
            "time": fact.time.isoformat(),
            "correlation": fact.correlation,
            "body": fact.body,
        },
    )


def _applications(
    scope: BatchScope, batch: Batch, before: Mapping[str, StateChangeTimes]
) -> dict[str, dict[str, Any]]:
    """Make the rows of applications; each state of a batch counts for the `since` times."""
    rows: dict[str, dict[str, Any]] = {}
    known = dict(before)
    for state in batch.states:
        if state.kind != APPLICATION.name or state.body is None:
            continue
        row = application_row(scope, state, state.body, known.get(state.subject))
        known[state.subject] = StateChangeTimes(
            sync=row["sync"],
            health=row["health"],
            sync_since=row["sync_since"],
            health_since=row["health_since"],
        )
        rows[state.subject] = row
    return rows


def _lives(newest: Mapping[Key, ReportedState], subject: str) -> bool:
    return newest[APPLICATION.name, subject].body is not None


def _object(scope: BatchScope, state: ReportedState, now: datetime) -> dict[str, Any]:
    return {
        "agent_id": scope.agent_id,
        "epoch": scope.epoch,
        "kind": state.kind,
        "subject": state.subject,
        "uid": state.uid,
        "hash": state.hash,
        "project": state.project,
        "sequence": state.sequence,
        "as_of": min(state.time, now),
        "body": msgspec.to_builtins(state.body),
    }


def _waiting(scope: BatchScope, fact: FactRow, now: datetime) -> dict[str, Any]:
    return {
        "agent_id": scope.agent_id,
        "epoch": scope.epoch,
        "kind": FACT_KIND,
        "subject": fact.event_id,
        "uid": "",
        "hash": "",
        "project": fact.project,
        "sequence": 0,
        "as_of": now,
        "body": msgspec.to_builtins(fact),
    }


def _fact(scope: BatchScope, fact: FactRow, now: datetime) -> dict[str, Any]:
    return {"agent_id": scope.agent_id, "received_at": now, **msgspec.structs.asdict(fact)}


def _components(newest: Mapping[Key, ReportedState]) -> dict[str, dict[str, Any] | None]:
    found: dict[str, dict[str, Any] | None] = {}
    for (kind, subject), state in newest.items():
        if kind != COMPONENT.name:
            continue
        name = subject.rpartition("/")[2]
        status = None if state.body is None else state.body.status
        words = ("status", "message", "version")
        found[name] = status and {"name": name, **{word: status.get(word, "") for word in words}}
    return found


def _state_change(
    scope: BatchScope, state: ReportedState, row: Mapping[str, Any] | None
) -> FeedChange:
    """Make the feed's entry of a state; its body is small, and the API has the rest."""
    if state.kind == APPLICATION.name:
        word = "application.removed" if state.body is None else "application.changed"
        shown = ("sync", "health", "revision", "environment", "phase", "attention")
        body = {name: row[name] for name in shown} if row and state.body else {}
        body["id"] = application_id(scope.agent_id, state.subject)
    elif state.kind == COMPONENT.name:
        word, body = "agent.changed", {}
    else:
        word, body = "object.changed", {"kind": state.kind, "deleted": state.body is None}
    project = str(row["project"]) if row else state.project
    return FeedChange(
        type=word,
        subject=scope.agent if state.kind == COMPONENT.name else state.subject,
        project=project,
        agent_id=scope.agent_id,
        body=body,
    )
