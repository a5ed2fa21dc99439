"""The last pushes of a fleet: what each commit reached, where it failed, how long it took.

A push is a fact: a target revision began to mean another commit. What a person synced by hand, a
heal and a rollback are none, whatever revision they name.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy import ColumnElement, Row, Subquery, case, func, select

from bus.events import Compared, OperationFinished, RenderFailed, ResourcesApplied
from bus.events.registry import wire_type
from service.access.permissions import Permission
from service.api.call import Call
from service.api.commits import RESOLVED, At, Commit, commits_of
from service.api.endpoint import Answer
from service.api.fields import text_of
from service.api.places import PlaceFilter, in_place
from service.api.sight import visible_applications
from service.history.visible import same_application
from service.store.tables import applications, facts

_PUSHES = 10
_RECENT = timedelta(hours=24)


class FleetPush(Answer, frozen=True, kw_only=True):
    """`applications` it reached: `synced` have it, `failed` could not, the others are under way."""

    repository: str
    commit: str
    author: str
    message: str
    applications: int
    synced: int
    failed: int
    p50_ms: int
    at: str | None


async def recent_pushes(call: Call, given: PlaceFilter) -> list[FleetPush]:
    """Of a day, the newest first; half of the applications took `p50_ms` at most."""
    reached = _reached(call, given)
    one = reached.c
    failed = one.failed_at.is_not(None) & (one.failed_at > func.coalesce(one.synced_at, one.at))
    synced = one.synced_at.is_not(None) & ~func.coalesce(failed, False)
    at = func.min(one.at)
    query = (
        select(
            func.min(one.repository).label("repository"),
            one.commit,
            func.count(one.application.distinct()).label("applications"),
            func.count(case((synced, one.application)).distinct()).label("synced"),
            func.count(case((failed, one.application)).distinct()).label("failed"),
            func.percentile_cont(0.5)
            .within_group(case((synced, func.extract("epoch", one.synced_at - one.at))))
            .label("p50"),
            at.label("at"),
            func.min(one.agent).label("agent"),
        )
        .group_by(one.subject, one.commit)
        .order_by(at.desc())
        .limit(_PUSHES)
    )
    rows = (await call.connection.execute(query)).all()
    commits = await commits_of(call, {_at(it) for it in rows})
    return [_push(it, commits[_at(it)]) for it in rows]


def _reached(call: Call, given: PlaceFilter) -> Subquery:
    """Each application that a push reached: when it was resolved, synced last, failed last."""
    pushed = facts.alias("pushed")
    body, kind = facts.c.body, facts.c.type
    synced = (kind == wire_type(OperationFinished)) & (body["phase"].astext == "Succeeded")
    equal = (kind == wire_type(Compared)) & (body["status"].astext == "Synced")
    refused = (kind == wire_type(ResourcesApplied)) & body[("failed", "0")].is_not(None)
    ended = (kind == wire_type(OperationFinished)) & (body["phase"].astext != "Succeeded")
    failed = (kind == wire_type(RenderFailed)) | refused | ended
    revision = pushed.c.body["revision"].astext
    return (
        select(
            applications.c.id.label("application"),
            applications.c.agent_id.label("agent"),
            func.min(applications.c.repository).label("repository"),
            pushed.c.subject,
            revision.label("commit"),
            func.min(pushed.c.time).label("at"),
            _last(synced | equal).label("synced_at"),
            _last(failed).label("failed_at"),
        )
        .select_from(facts)
        .join(applications, same_application(facts))
        .join(
            pushed,
            (pushed.c.agent_id == facts.c.agent_id)
            & (pushed.c.correlation == facts.c.correlation)
            & (pushed.c.type == RESOLVED),
        )
        .where(
            visible_applications(call.caller, Permission.APPLICATION_VIEW),
            *in_place(given, applications.c.environment, applications.c.region),
            facts.c.correlation != "",
            facts.c.time > call.now - _RECENT,
            pushed.c.time > call.now - _RECENT,
            func.coalesce(body["revision"].astext, revision) == revision,
        )
        .group_by(applications.c.id, applications.c.agent_id, pushed.c.subject, revision)
        .subquery()
    )


def _last(holds: ColumnElement[bool]) -> ColumnElement[Any]:
    return func.max(facts.c.time).filter(holds)


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
        failed=row.failed,
        p50_ms=round(float(row.p50 or 0) * 1000),
        at=text_of(row.at),
    )
