"""The last pushes of a fleet: what each commit reached, and how long it took."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import Row, Subquery, case, func, select

from bus.events import OperationFinished
from bus.events.registry import wire_type
from service.access.permissions import Permission
from service.api.call import Call
from service.api.commits import At, Commit, commits_of
from service.api.endpoint import Answer
from service.api.fields import text_of
from service.api.places import PlaceFilter, in_place
from service.api.sight import visible_applications
from service.history.visible import same_application
from service.store.tables import applications, facts

_PUSHES = 10
_RECENT = timedelta(hours=24)
_ONE = (facts.c.correlation, facts.c.agent_id, facts.c.subject)
"""One push, as one application met it."""


class FleetPush(Answer, frozen=True, kw_only=True):
    repository: str
    commit: str
    author: str
    message: str
    applications: int
    synced: int
    p50_ms: int
    at: str | None


async def recent_pushes(call: Call, given: PlaceFilter) -> list[FleetPush]:
    """Of a day, the newest first; half of the applications took `p50_ms` at most."""
    met = _met(call, given)
    at = func.max(met.c.time)
    done = func.count(case((met.c.sync == "Synced", met.c.application)).distinct())
    query = (
        select(
            met.c.repository,
            met.c.commit,
            func.count(met.c.application.distinct()).label("applications"),
            done.label("synced"),
            func.percentile_cont(0.5).within_group(met.c.took).label("p50"),
            at.label("at"),
            func.min(met.c.agent).label("agent"),
        )
        .where(met.c.type == wire_type(OperationFinished))
        .group_by(met.c.repository, met.c.commit)
        .order_by(at.desc())
        .limit(_PUSHES)
    )
    rows = (await call.connection.execute(query)).all()
    commits = await commits_of(call, {_at(it) for it in rows})
    return [_push(it, commits[_at(it)]) for it in rows]


def _met(call: Call, given: PlaceFilter) -> Subquery:
    """Each fact of a push beside the time from the push's first fact here to its last."""
    first = func.min(facts.c.time).over(partition_by=_ONE)
    last = func.max(facts.c.time).over(partition_by=_ONE)
    return (
        select(
            applications.c.id.label("application"),
            applications.c.agent_id.label("agent"),
            applications.c.repository,
            applications.c.sync,
            facts.c.body["revision"].astext.label("commit"),
            facts.c.time,
            facts.c.type,
            func.extract("epoch", last - first).label("took"),
        )
        .join(applications, same_application(facts))
        .where(
            visible_applications(call.caller, Permission.APPLICATION_VIEW),
            *in_place(given, applications.c.environment, applications.c.region),
            facts.c.correlation != "",
            facts.c.time > call.now - _RECENT,
        )
        .subquery()
    )


def _at(row: Row[Any]) -> At:
    """As one of the agents met it that the push came to."""
    return At(row.agent, row.repository, row.commit or "")


def _push(row: Row[Any], commit: Commit) -> FleetPush:
    return FleetPush(
        repository=row.repository,
        commit=commit.id,
        author=commit.author,
        message=commit.message,
        applications=row.applications,
        synced=row.synced,
        p50_ms=round(float(row.p50 or 0) * 1000),
        at=text_of(row.at),
    )
