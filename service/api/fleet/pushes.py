"""Recent pushes of the fleet: which applications each commit reached, and how fast.

A push is a fact: a target revision began to mean another commit. A sync by hand, a self-heal and a
rollback are no push, whatever revision they name.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Subquery, case, func, select

from bus.events import Compared, OperationFinished, RenderFailed, ResourcesApplied
from bus.events.event import wire_type
from service.access.permissions import Permission
from service.access.visibility import visible_applications
from service.api.applications.commits import RESOLVED, CommitInfo, CommitKey, commits_of
from service.api.history.record_visibility import same_application
from service.http.call import ApiCall
from service.http.endpoint import ResponseModel
from service.http.fields import EnvironmentFilter, in_environment, text_of
from service.store.rows import read_rows
from service.store.tables import applications, facts

_PUSHES = 10
_RECENT = timedelta(hours=24)


class FleetPush(ResponseModel, frozen=True, kw_only=True):
    """`applications` it reached: `synced` have it, `failed` could not, the others are under way."""

    repository: str
    commit: str
    author: str
    message: str
    applications: int
    synced: int
    failed: int
    p50_ms: int
    at: str


class PushRow(msgspec.Struct, frozen=True, kw_only=True):
    """A commit with the applications that it reached; `agent` is one of theirs."""

    repository: str
    commit: str | None
    applications: int
    synced: int
    failed: int
    p50: float | None
    at: datetime
    agent: str


async def recent_pushes(call: ApiCall, params: EnvironmentFilter) -> list[FleetPush]:
    """List the pushes of a day, the newest first, with the median time to their applications."""
    reached = _reached(call, params)
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
    rows = await read_rows(call.connection, query, PushRow)
    commits = await commits_of(call, {_at(it) for it in rows})
    return [_push(it, commits[_at(it)]) for it in rows]


def _reached(call: ApiCall, params: EnvironmentFilter) -> Subquery:
    """Each application that a push reached: when it was resolved, synced last, failed last."""
    # The push is the fact that resolved the revision; what followed carries its correlation. Facts
    # of the same correlation about another revision (of a second branch) are left out below.
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
            *in_environment(params, applications.c.environment, applications.c.region),
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


def _at(row: PushRow) -> CommitKey:
    """As one of the agents met it that the push came to."""
    return CommitKey(row.agent, row.repository, row.commit or "")


def _push(row: PushRow, commit: CommitInfo) -> FleetPush:
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
