"""Rows of service instances: the pods of each application, as its agent last reported.

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

from bus.link.kinds import APPLICATION, INSTANCES
from service.projection.applications import application_id
from service.projection.batch import (
    Batch,
    BatchScope,
    ReportedState,
    clip,
    listed,
    mapping,
    parsed_time,
)
from service.store.tables import instances

_MOST = 5000
_IMAGES = 50
_NEVER = datetime.fromtimestamp(0, UTC)


class InstanceRows(msgspec.Struct, frozen=True, kw_only=True):
    """`applications`: those whose instances are told anew; `rows`: all that they have now."""

    applications: tuple[str, ...] = ()
    rows: tuple[dict[str, Any], ...] = ()


def reduce_instances(scope: BatchScope, states: Iterable[ReportedState]) -> InstanceRows:
    """Fold states into rows of instances: the newest report of each application counts."""
    newest = {(it.kind, it.subject): it for it in states}
    by_application: dict[str, list[dict[str, Any]]] = {}
    for (kind, subject), state in newest.items():
        id_ = application_id(scope.agent_id, subject)
        if kind == INSTANCES.name:
            by_application[id_] = _pods(scope, id_, state)
        elif kind == APPLICATION.name and state.body is None:
            by_application.setdefault(id_, [])
    rows = {row["uid"]: row for pods in by_application.values() for row in pods}
    return InstanceRows(
        applications=tuple(sorted(by_application)), rows=tuple(rows[it] for it in sorted(rows))
    )


async def keep_instances(
    connection: AsyncConnection, scope: BatchScope, batch: Batch
) -> InstanceRows:
    running = reduce_instances(scope, batch.states)
    if not running.applications:
        return running
    mine = instances.c.agent_id == scope.agent_id
    reported = instances.c.application_id.in_(running.applications)
    await connection.execute(delete(instances).where(mine, reported))
    if running.rows:
        statement = insert(instances)
        values = {name: statement.excluded[name] for name in running.rows[0]}
        stored = statement.on_conflict_do_update(index_elements=["agent_id", "uid"], set_=values)
        await connection.execute(stored, list(running.rows))
    return running


def _pods(scope: BatchScope, id_: str, state: ReportedState) -> list[dict[str, Any]]:
    pod_list = listed(state.body.status.get("pods")) if state.body is not None else []
    pods = (mapping(it) for it in pod_list[:_MOST])
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
    found = parsed_time(str(value or ""), _NEVER)
    return None if found == _NEVER else found
