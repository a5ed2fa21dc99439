"""What came to an application: deployments from its status, pushes hop by hop from the facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from msgspec.structs import replace
from sqlalchemy import Row, select

from bus.status import OperationKind
from service.access.permissions import Permission
from service.api import applications as apps
from service.api.call import Call
from service.api.commits import RESOLVED, At, Commit, commit_of, commits_of
from service.api.endpoint import Answer, Endpoint, Nothing
from service.api.fields import text_of
from service.api.pages import Page
from service.history.push_end import PushOutcome, Told, push_end
from service.projection.deployment import kinds_of
from service.store.tables import facts

VIEW = Permission.APPLICATION_VIEW
_PUSHES = 20
_FACTS = 1000


class Deployment(Answer, frozen=True, kw_only=True):
    id: int
    revision: str
    deployed_at: str | None
    initiated_by: str
    kind: OperationKind
    author: str
    message: str
    seconds: float


class Hop(Answer, frozen=True, kw_only=True):
    name: str
    time: str | None
    ms: int
    """Since the hop before."""


class Push(Answer, frozen=True, kw_only=True):
    """Everything that one push caused here, by its correlation; `message`: why it ended so."""

    correlation: str
    began: str | None
    commit: Commit
    hops: list[Hop]
    total_ms: int
    ended: str | None
    outcome: PushOutcome
    message: str


async def list_deployments(call: Call, _given: Nothing) -> Page[Deployment]:
    """The newest first."""
    row = await apps.find(call, call.id)
    status = (await apps.body_of(call, row)).get("status", {})
    found = status.get("history") if isinstance(status, Mapping) else None
    entries = [it for it in found or () if isinstance(it, Mapping)]
    met = [At(row["agent_id"], row["repository"], str(it.get("revision") or "")) for it in entries]
    commits = await commits_of(call, set(met))
    items = [
        _deployment(it, kind, commits[at])
        for it, kind, at in zip(entries, kinds_of(entries), met, strict=True)
    ]
    return Page(items=items[::-1])


async def list_pushes(call: Call, _given: Nothing) -> Page[Push]:
    """The last twenty, the newest first, with the milliseconds of each hop."""
    row = await apps.find(call, call.id)
    subject = f"{row['namespace']}/{row['name']}"
    mine = (
        select(facts)
        .where(facts.c.agent_id == row["agent_id"], facts.c.subject == subject)
        .where(facts.c.correlation != "")
        .order_by(facts.c.time.desc())
        .limit(_FACTS)
    )
    found = (await call.connection.execute(mine)).all()
    correlations = list(dict.fromkeys(it.correlation for it in found))[:_PUSHES]
    commits = (
        select(facts)
        .where(facts.c.agent_id == row["agent_id"], facts.c.type == RESOLVED)
        .where(facts.c.correlation.in_(correlations))
    )
    began = (await call.connection.execute(commits)).all()
    items = [_push(it, [*began, *found]) for it in correlations]
    return Page(items=_superseded([it for it in items if it is not None]))


def _deployment(it: Mapping[str, Any], kind: OperationKind, commit: Commit) -> Deployment:
    by = it.get("initiatedBy")
    by = by if isinstance(by, Mapping) else {}
    number = it.get("id", 0)
    return Deployment(
        id=number if isinstance(number, int) else 0,
        revision=str(it.get("revision") or ""),
        deployed_at=it.get("deployedAt"),
        initiated_by="automated" if by.get("automated") else str(by.get("username") or ""),
        kind=kind,
        author=commit.author,
        message=commit.message,
        seconds=_seconds(it.get("deployStartedAt"), it.get("deployedAt")),
    )


def _push(correlation: str, found: Sequence[Row[Any]]) -> Push | None:
    """None where it was no push: nothing new was resolved."""
    mine = sorted((it for it in found if it.correlation == correlation), key=lambda it: it.time)
    if not any(it.type == RESOLVED for it in mine):
        return None
    times = [it.time for it in mine]
    end = push_end([Told(type=it.type, time=it.time, body=it.body) for it in mine])
    hops = [
        Hop(name=it.type.removeprefix("fact."), time=text_of(it.time), ms=_ms(before, it.time))
        for it, before in zip(mine, [times[0], *times], strict=False)
    ]
    return Push(
        correlation=correlation,
        began=text_of(times[0]),
        commit=_commit(mine),
        hops=hops,
        total_ms=_ms(times[0], end.time or times[-1]),
        ended=text_of(end.time),
        outcome=end.outcome,
        message=end.message,
    )


def _superseded(pushes: Sequence[Push]) -> list[Push]:
    """The newest first: what is under way although a later push came has been overtaken."""
    return [
        replace(it, outcome=PushOutcome.SUPERSEDED)
        if number and it.outcome is PushOutcome.RUNNING
        else it
        for number, it in enumerate(pushes)
    ]


def _commit(mine: Sequence[Row[Any]]) -> Commit:
    """Of several branches that were looked at in one go, what the application went on with."""
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
        gives=Page[Deployment],
    ),
    Endpoint(
        method="GET",
        path="/applications/{id}/pushes",
        needs=VIEW,
        handler=list_pushes,
        gives=Page[Push],
    ),
)
