"""Hashes of an epoch's objects, compared with the hashes that its agent reports."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.link import BucketMember, Root
from bus.link.digest import root_of_members
from service.gateway.effects import CompareMembers, DoubtKinds, MembersCompared
from service.projection.batch import BatchScope
from service.projection.batch_changes import FACT_KIND
from service.projection.removal_guard import Doubted, mark_doubted
from service.store.changes import note
from service.store.tables import agents, applications, objects


async def differing(
    connection: AsyncConnection, scope: BatchScope, kinds: Mapping[str, Root]
) -> tuple[str, ...]:
    """Kinds whose root is not ours. Of a kind that is not told, nothing is concluded."""
    found: list[str] = []
    for kind, root in sorted(kinds.items()):
        if (
            kind != FACT_KIND
            and root_of_members(await members(connection, scope, kind)) != root.root
        ):
            found.append(kind)
    return tuple(found)


async def members(connection: AsyncConnection, scope: BatchScope, kind: str) -> list[BucketMember]:
    query = select(objects.c.subject, objects.c.uid, objects.c.hash).where(
        objects.c.agent_id == scope.agent_id,
        objects.c.epoch == scope.epoch,
        objects.c.kind == kind,
    )
    rows = await connection.execute(query)
    return [BucketMember(subject=row.subject, uid=row.uid, hash=row.hash) for row in rows]


async def compare_members(
    connection: AsyncConnection, scope: BatchScope, look: CompareMembers
) -> MembersCompared:
    """Compare members with ours; what arrived after the look is not missing there."""
    query = select(objects.c.subject, objects.c.uid, objects.c.hash, objects.c.sequence).where(
        objects.c.agent_id == scope.agent_id,
        objects.c.epoch == scope.epoch,
        objects.c.kind == look.kind,
    )
    known = {row.subject: row for row in await connection.execute(query)}
    reported = {member.subject: member for member in look.members}
    return MembersCompared(
        kind=look.kind,
        differing=frozenset(
            subject
            for subject, it in reported.items()
            if subject not in known
            or (known[subject].uid, known[subject].hash) != (it.uid, it.hash)
        ),
        missing=frozenset(
            subject
            for subject, row in known.items()
            # A later sequence arrived after the agent took its look: it cannot be in the look.
            if subject not in reported and row.sequence <= look.through
        ),
        known=len(known),
    )


async def mark(engine: AsyncEngine, scope: BatchScope, now: datetime, *, in_step: bool) -> None:
    """Note for people whether, and when, both sides were seen to hold the same."""
    mine = agents.c.id == scope.agent_id
    async with engine.begin() as connection:
        before = (await connection.execute(select(agents.c.roots_in_step).where(mine))).scalar_one()
        values: dict[str, object] = {"roots_in_step": in_step, "roots_at": now}
        values |= {"doubted": {}} if in_step else {}
        await connection.execute(update(agents).where(mine).values(values))
        if in_step:
            doubted = (applications.c.agent_id == scope.agent_id) & applications.c.suspect
            await connection.execute(update(applications).where(doubted).values(suspect=False))
        if before != in_step:
            body = {"rootsInStep": in_step}
            name, agent = scope.agent, scope.agent_id
            await note(connection, scope.account_id, "agent.changed", name, "", agent, body)


async def doubt(engine: AsyncEngine, scope: BatchScope, doubted: DoubtKinds, now: datetime) -> None:
    """Shown as suspect and as held by the guard, not removed."""
    if scope.quarantined:
        return
    subjects = doubted.subjects
    async with engine.begin() as connection:
        shown = Doubted(kind=doubted.kind, subjects=subjects)
        await mark_doubted(connection, scope, shown, len(subjects), now)
        body = {"suspect": len(subjects)}
        name, agent = scope.agent, scope.agent_id
        await note(connection, scope.account_id, "agent.changed", name, "", agent, body)
