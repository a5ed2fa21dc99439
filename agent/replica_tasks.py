"""The replica tasks run where replicas divide the shards: what a leader does, for the shards held.

The replica joins the table of shards before it opens any of them, and leaves it after its handlers
have ended. Where the others have given its shards away meanwhile, everything is cancelled.
"""

from __future__ import annotations

import asyncio
import secrets

from agent.dependencies import AgentDependencies
from agent.kube.session_state import first_of
from agent.leader_tasks import dispatcher_of, handler_routes, provision, run_dispatcher
from agent.replicas.membership import Membership
from agent.replicas.membership_terms import MembershipLostError, MembershipTerms
from agent.replicas.repository_parts import with_shard
from agent.shard_duties import ShardDuties


async def run_replica_tasks(
    parts: AgentDependencies, identity: str, stop: asyncio.Event, acting: asyncio.Event
) -> None:
    """Run until `stop` is set and the lanes are drained; raises MembershipLostError."""
    await provision(parts.bus)
    membership = _membership(parts, identity)
    await membership.join()
    parts.readiness.standby = ""
    parts.readiness.hold("lease")
    try:
        await _run_member(parts, membership, stop, acting)
    except* MembershipLostError as lost:
        raise first_of(lost) from None
    finally:
        parts.ownership.fence.close()
        parts.ownership.lose(parts.ownership.names)


async def _run_member(
    parts: AgentDependencies, membership: Membership, stop: asyncio.Event, acting: asyncio.Event
) -> None:
    """The membership outlives the handlers: their last writes need it."""
    routes = tuple(with_shard(route) for route in handler_routes(parts))
    dispatcher = dispatcher_of(parts, routes, divided=True)
    shards = ShardDuties(parts=parts, membership=membership, dispatcher=dispatcher, stop=stop)
    async with asyncio.TaskGroup() as tasks:
        membership_task = tasks.create_task(membership.keep(), name="membership")
        await run_dispatcher(parts, dispatcher, stop, acting, ("shards", shards.run))
        membership_task.cancel()
    await membership.leave()


def _membership(parts: AgentDependencies, identity: str) -> Membership:
    settings = parts.settings
    terms = MembershipTerms(
        namespace=settings.namespace,
        name=settings.lease.name,
        # A process that is started again in its container has the name of the one before.
        identity=f"{identity}_{secrets.token_hex(3)}",
        duration=settings.replicas.lease,
    )

    def waits(holder: str) -> None:
        parts.readiness.standby = f"another agent acts, which does not divide its work: {holder}"

    return Membership(parts.client, terms, parts.ownership, waits)
