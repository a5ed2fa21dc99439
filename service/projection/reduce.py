"""A batch -> rows of tables and words for the change feed. Pure: a function of values.

States are folded in order and the last of each object is written; facts are kept one by one. Of a
quarantined epoch, everything is kept under the epoch in `objects`, facts too, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from service.projection.applications import Since, application_id, application_row
from service.projection.values import APPLICATION, COMPONENT, Batch, FactRow, Scope, State
from service.store.changes import Change

FACT_KIND = "Fact"
"""Facts of a quarantined epoch wait in `objects` under this kind, until it is believed."""

Key = tuple[str, str]
Rows = list[dict[str, Any]]


class Written(msgspec.Struct, frozen=True, kw_only=True):
    objects: Rows = []
    gone: list[Key] = []
    """Kind and subject of each object that is no more."""
    applications: Rows = []
    facts: Rows = []
    components: dict[str, dict[str, Any] | None] = {}
    """By name; None: gone."""
    changes: list[Change] = []


def reduce(scope: Scope, batch: Batch, before: Mapping[str, Since], now: datetime) -> Written:
    """`before`: rows of applications by subject, of those that are in the batch."""
    newest = {(state.kind, state.subject): state for state in batch.states}
    objects = [_object(scope, state, now) for state in newest.values() if state.body is not None]
    gone = [key for key, state in newest.items() if state.body is None]
    if scope.quarantined:
        waiting = [_waiting(scope, fact, now) for fact in batch.facts]
        return Written(objects=objects + waiting, gone=gone)
    applications = _applications(scope, batch, before)
    found = [row for subject, row in applications.items() if _lives(newest, subject)]
    return Written(
        objects=objects,
        gone=gone,
        applications=found,
        facts=[_fact(scope, fact, now) for fact in batch.facts],
        components=_components(newest),
        changes=[
            *(_told(scope, state, applications.get(state.subject)) for state in newest.values()),
            *(fact_change(scope, fact) for fact in batch.facts),
        ],
    )


def fact_change(scope: Scope, fact: FactRow) -> Change:
    return Change(
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
    scope: Scope, batch: Batch, before: Mapping[str, Since]
) -> dict[str, dict[str, Any]]:
    """Every state counts here: what came and went within a batch moves the `since` times."""
    rows: dict[str, dict[str, Any]] = {}
    known = dict(before)
    for state in batch.states:
        if state.kind != APPLICATION or state.body is None:
            continue
        row = application_row(scope, state, state.body, known.get(state.subject))
        known[state.subject] = Since(
            sync=row["sync"],
            health=row["health"],
            sync_since=row["sync_since"],
            health_since=row["health_since"],
        )
        rows[state.subject] = row
    return rows


def _lives(newest: Mapping[Key, State], subject: str) -> bool:
    return newest[APPLICATION, subject].body is not None


def _object(scope: Scope, state: State, now: datetime) -> dict[str, Any]:
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


def _waiting(scope: Scope, fact: FactRow, now: datetime) -> dict[str, Any]:
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


def _fact(scope: Scope, fact: FactRow, now: datetime) -> dict[str, Any]:
    return {"agent_id": scope.agent_id, "received_at": now, **msgspec.structs.asdict(fact)}


def _components(newest: Mapping[Key, State]) -> dict[str, dict[str, Any] | None]:
    found: dict[str, dict[str, Any] | None] = {}
    for (kind, subject), state in newest.items():
        if kind != COMPONENT:
            continue
        name = subject.rpartition("/")[2]
        status = None if state.body is None else state.body.status
        words = ("status", "message", "version")
        found[name] = status and {"name": name, **{word: status.get(word, "") for word in words}}
    return found


def _told(scope: Scope, state: State, row: Mapping[str, Any] | None) -> Change:
    """What people see of it; the body is small, whoever wants more asks the API."""
    if state.kind == APPLICATION:
        word = "application.removed" if state.body is None else "application.changed"
        shown = ("sync", "health", "revision", "environment", "phase", "attention")
        body = {name: row[name] for name in shown} if row and state.body else {}
        body["id"] = application_id(scope.agent_id, state.subject)
    elif state.kind == COMPONENT:
        word, body = "agent.changed", {}
    else:
        word, body = "object.changed", {"kind": state.kind, "deleted": state.body is None}
    project = str(row["project"]) if row else state.project
    return Change(
        type=word,
        subject=scope.agent if state.kind == COMPONENT else state.subject,
        project=project,
        agent_id=scope.agent_id,
        body=body,
    )
