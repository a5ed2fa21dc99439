"""How much runs of each application, and what its agent says of it, as parts of queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Subquery, and_, func, select

from service.api.endpoint import Answer
from service.projection.values import APPLICATION
from service.store.tables import applications, epochs, instances, objects


class Counts(Answer, frozen=True, kw_only=True):
    """`ready` of the `instances`; `healthy` and `outOfSync` of the `applications`."""

    applications: int
    instances: int
    ready: int
    healthy: int
    out_of_sync: int


def told(kind: str, value: ColumnElement[Any]) -> Any:
    """`value`, of `objects`, in the believed state of this kind; correlated with `applications`."""
    believed = and_(epochs.c.agent_id == objects.c.agent_id, epochs.c.epoch == objects.c.epoch)
    return (
        select(value)
        .join(epochs, and_(believed, epochs.c.state == "active"))
        .where(
            objects.c.agent_id == applications.c.agent_id,
            objects.c.kind == kind,
            objects.c.subject == applications.c.namespace + "/" + applications.c.name,
        )
        .correlate(applications)
        .limit(1)
        .scalar_subquery()
    )


def deployed() -> ColumnElement[str]:
    """The commit that was synced last; while it differs from Git, `revision` is a newer one."""
    last = objects.c.body[("status", "history", -1, "revision")].astext
    return func.coalesce(told(APPLICATION, last), applications.c.revision)


def running() -> Subquery:
    """Pods by application."""
    return (
        select(
            instances.c.application_id,
            func.count().label("pods"),
            func.count().filter(instances.c.ready).label("ready"),
        )
        .group_by(instances.c.application_id)
        .subquery()
    )


def counts(running: Subquery) -> tuple[ColumnElement[Any], ...]:
    """Over applications, with what runs of them joined."""
    table = applications.c
    return (
        func.count().label("applications"),
        func.coalesce(func.sum(running.c.pods), 0).label("instances"),
        func.coalesce(func.sum(running.c.ready), 0).label("ready"),
        func.count().filter(table.health == "Healthy").label("healthy"),
        func.count().filter(table.sync == "OutOfSync").label("out_of_sync"),
    )


def numbers(row: Any) -> dict[str, int]:
    return {name: int(row[name]) for name in Counts.__struct_fields__}


def words(values: Iterable[str]) -> list[str]:
    return sorted({it for it in values if it})
