"""The history of an application: deployments from its status, pushes from the facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from sqlalchemy import select

from bus.status import OperationKind
from service.access.permissions import Permission
from service.api.applications import applications as apps
from service.api.applications.commits import (
    RESOLVED,
    CommitInfo,
    CommitKey,
    commit_in,
    commit_of,
    commits_of,
)
from service.history.push_end import PushFact, PushOutcome, push_end
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, ResponseModel
from service.http.fields import text_of
from service.http.pages import Page
from service.projection.application_status import kinds_of, main_revision
from service.projection.batch import FactRow, clip, listed
from service.store.rows import read_rows
from service.store.tables import facts

VIEW = Permission.APPLICATION_VIEW
_PUSHES = 20
_FACTS = 1000
_SOURCES = 20


class DeploymentEntry(ResponseModel, frozen=True, kw_only=True):
    id: int
    revision: str
    revisions: list[str]
    """One for each source of an application with several; `revision` is that of the first that
    renders."""
    deployed_at: str
    initiated_by: str
    kind: OperationKind
    author: str
    message: str
    seconds: float


class PushHop(ResponseModel, frozen=True, kw_only=True):
    name: str
    time: str
    ms: int
    """Since the hop before."""


class PushTrace(ResponseModel, frozen=True, kw_only=True):
    """Everything that one push caused here, by its correlation; `message`: why it ended so."""

    correlation: str
    began: str
    commit: CommitInfo
    hops: list[PushHop]
    total_ms: int
    ended: str | None
    outcome: PushOutcome
    message: str


async def list_deployments(call: ApiCall, _params: NoInput) -> Page[DeploymentEntry]:
    """List the deployment history of an application, the newest first."""
    row = await apps.find(call, call.id)
    status = (await apps.body_of(call, row)).get("status", {})
    found = status.get("history") if isinstance(status, Mapping) else None
    entries = [it for it in found or () if isinstance(it, Mapping)]
    met = [CommitKey(row.agent_id, row.repository, main_revision(it)) for it in entries]
    commits = await commits_of(call, set(met))
    items = [
        _deployment(it, kind, commit_in(row.commits, commits[at]))
        for it, kind, at in zip(entries, kinds_of(entries), met, strict=True)
    ]
    return Page(items=items[::-1])


async def list_pushes(call: ApiCall, _params: NoInput) -> Page[PushTrace]:
    """List the last twenty pushes that reached an application, with the time of each hop."""
    row = await apps.find(call, call.id)
    mine = (
        select(facts)
        .where(facts.c.agent_id == row.agent_id, facts.c.subject == row.subject)
        .where(facts.c.correlation != "")
        .order_by(facts.c.time.desc())
        .limit(_FACTS)
    )
    found = await read_rows(call.connection, mine, FactRow)
    correlations = list(dict.fromkeys(it.correlation for it in found))[:_PUSHES]
    commits = (
        select(facts)
        .where(facts.c.agent_id == row.agent_id, facts.c.type == RESOLVED)
        .where(facts.c.correlation.in_(correlations))
    )
    began = await read_rows(call.connection, commits, FactRow)
    items = [_push(it, [*began, *found]) for it in correlations]
    return Page(items=_superseded([it for it in items if it is not None]))


def _deployment(it: Mapping[str, Any], kind: OperationKind, commit: CommitInfo) -> DeploymentEntry:
    by = it.get("initiatedBy")
    by = by if isinstance(by, Mapping) else {}
    number = it.get("id", 0)
    return DeploymentEntry(
        id=number if isinstance(number, int) else 0,
        revision=main_revision(it),
        revisions=[clip(one, 64) for one in listed(it.get("revisions"))[:_SOURCES]],
        deployed_at=str(it.get("deployedAt") or ""),
        initiated_by="automated" if by.get("automated") else str(by.get("username") or ""),
        kind=kind,
        author=commit.author,
        message=commit.message,
        seconds=_seconds(it.get("deployStartedAt"), it.get("deployedAt")),
    )


def _push(correlation: str, found: Sequence[FactRow]) -> PushTrace | None:
    """Trace one push; None where nothing new was resolved."""
    mine = sorted((it for it in found if it.correlation == correlation), key=lambda it: it.time)
    if not any(it.type == RESOLVED for it in mine):
        return None
    times = [it.time for it in mine]
    end = push_end([PushFact(type=it.type, time=it.time, body=it.body) for it in mine])
    hops = [
        PushHop(name=it.type.removeprefix("fact."), time=text_of(it.time), ms=_ms(before, it.time))
        for it, before in zip(mine, [times[0], *times], strict=False)
    ]
    return PushTrace(
        correlation=correlation,
        began=text_of(times[0]),
        commit=_commit(mine),
        hops=hops,
        total_ms=_ms(times[0], end.time or times[-1]),
        ended=text_of(end.time),
        outcome=end.outcome,
        message=end.message,
    )


def _superseded(pushes: Sequence[PushTrace]) -> list[PushTrace]:
    """Mark pushes under way that a later one overtook; the newest comes first."""
    return [
        replace(it, outcome=PushOutcome.SUPERSEDED)
        if number and it.outcome is PushOutcome.RUNNING
        else it
        for number, it in enumerate(pushes)
    ]


def _commit(mine: Sequence[FactRow]) -> CommitInfo:
    """Choose, of several resolved branches, the commit that the application went on with."""
    resolved = [it.body for it in mine if it.type == RESOLVED]
    gone_on = {it.body.get("revision") for it in mine if it.type != RESOLVED}
    return commit_of(next((it for it in resolved if it.get("revision") in gone_on), resolved[0]))


def _ms(begin: datetime, end: datetime) -> int:
    return round((end - begin).total_seconds() * 1000)


def _seconds(begin: Any, end: Any) -> float:
    try:
        return (datetime.fromisoformat(end) - datetime.fromisoformat(begin)).total_seconds()
    except (TypeError, ValueError):
        return 0.0


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/history",
        needs=VIEW,
        handler=list_deployments,
        gives=Page[DeploymentEntry],
    ),
    Endpoint(
        method="GET",
        path="/applications/{id}/pushes",
        needs=VIEW,
        handler=list_pushes,
        gives=Page[PushTrace],
    ),
)
