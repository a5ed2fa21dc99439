"""Service instances: the pods that run for an application, as its agent last told. Pure but `keep`.

A state of kind `Instances` has the application's `namespace/name` as its subject, and the complete
list under `status.pods`: uid, namespace, name, images, ready, startedAt.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
from sqlalchemy import delete
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from service.projection.applications import application_id
from service.projection.values import (
    APPLICATION,
    Batch,
    Scope,
    State,
    clip,
    listed,
    mapping,
    moment,
)
from service.store.tables import instances

INSTANCES = "Instances"
_MOST = 5000
_IMAGES = 50
_NEVER = datetime.fromtimestamp(0, UTC)


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """`applications`: those whose instances are told anew; `rows`: all that they have now."""

    applications: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()


def reduce_instances(scope: Scope, states: Iterable[State]) -> Running:
    """The newest state of each application counts; with the application its instances go."""
    newest = {(it.kind, it.subject): it for it in states}
    told: dict[str, list[dict[str, Any]]] = {}
    for (kind, subject), state in newest.items():
        id_ = application_id(scope.agent_id, subject)
        if kind == INSTANCES:
            told[id_] = _pods(scope, id_, state)
        elif kind == APPLICATION and state.body is None:
            told.setdefault(id_, [])
    rows = {row["uid"]: row for pods in told.values() for row in pods}
    return Running(applications=tuple(sorted(told)), rows=tuple(rows[it] for it in sorted(rows)))


async def keep_instances(connection: AsyncConnection, scope: Scope, batch: Batch) -> Running:
    running = reduce_instances(scope, batch.states)
    if not running.applications:
        return running
    mine = instances.c.agent_id == scope.agent_id
    theirs = instances.c.application_id.in_(running.applications)
    await connection.execute(delete(instances).where(mine, theirs))
    if running.rows:
        statement = insert(instances)
        values = {name: statement.excluded[name] for name in running.rows[0]}
        stored = statement.on_conflict_do_update(index_elements=["agent_id", "uid"], set_=values)
        await connection.execute(stored, list(running.rows))
    return running


def _pods(scope: Scope, id_: str, state: State) -> list[dict[str, Any]]:
    said = listed(state.body.status.get("pods")) if state.body is not None else []
    pods = (mapping(it) for it in said[:_MOST])
    return [
        {
            "agent_id": scope.agent_id,
            "uid": clip(pod.get("uid"), 64),
            "application_id": id_,
            "namespace": clip(pod.get("namespace"), 63),
            "pod": clip(pod.get("name"), 253),
            "images": [clip(it, 700) for it in listed(pod.get("images"))[:_IMAGES]],
            "ready": pod.get("ready") is True,
            "started_at": _started(pod.get("startedAt")),
        }
        for pod in pods
        if pod.get("uid")
    ]


def _started(value: object) -> datetime | None:
    found = moment(str(value or ""), _NEVER)
    return None if found == _NEVER else found
