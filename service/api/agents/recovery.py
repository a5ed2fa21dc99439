"""Recovery of an agent's projection: rebuild it, and judge deletions and epochs that are held.

A rebuild and accepted deletions are signals to the agent's link, so the agent must be connected;
their effect is seen in the agent, not in the answer. Verdicts on epochs count at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web
from sqlalchemy import select, update

from service.access.permissions import Permission
from service.api.agents.agent_summaries import AgentRow, AgentSummary, agent_of
from service.api.agents.agents import find, row_of
from service.gateway import epochs as believed
from service.gateway.agent_status import AgentStatus
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput
from service.http.problem import ProblemError, not_found
from service.projection.row_writes import drop_cache
from service.projection.writer import Follower
from service.store.changes import note
from service.store.link_signals import LinkSignal, signal_link
from service.store.tables import agents, epochs

EDIT = Permission.AGENT_EDIT
FOLLOWERS: web.AppKey[Sequence[Follower]] = web.AppKey("followers")
"""Writers that take part in the transaction of each batch of the projection."""


async def rebuild_agent(call: ApiCall, _params: NoInput) -> AgentSummary:
    """Rebuild the projection of an agent: drop it, and ask the agent for all of it again."""
    row = await _locked_agent(call)
    found = agent_of(row, call)
    if found.rebuilding_since is not None:
        raise _not_now(409, f"a rebuild has been running since {found.rebuilding_since}", "running")
    if found.quarantined is not None:
        remedy = "Accept or reject the epoch first."
        raise _not_now(409, "its reported state has not been accepted yet", "quarantined", remedy)
    await drop_cache(call.connection, row.id, call.now)
    return await _record_change(call, row, "agent.rebuilt", {"applications": found.applications})


async def accept_deletions(call: ApiCall, _params: NoInput) -> AgentSummary:
    """Accept the many deletions of an agent that the guard holds back."""
    row = await _locked_agent(call)
    if not row.doubted:
        raise not_found("deletion that is held")
    await call.connection.execute(update(agents).where(agents.c.id == call.id).values(doubted={}))
    await signal_link(call.connection, LinkSignal(agent_id=row.id, deletions=True))
    kinds = {kind: it["count"] for kind, it in row.doubted.items()}
    return await _record_change(call, row, "deletions.accepted", kinds)


async def accept_epoch(call: ApiCall, _params: NoInput) -> AgentSummary:
    """Accept a quarantined epoch: its objects replace what was known of the agent."""
    return await _apply_verdict(call, "accepted")


async def reject_epoch(call: ApiCall, _params: NoInput) -> AgentSummary:
    """Reject a quarantined epoch: what was known of the agent stays."""
    return await _apply_verdict(call, "rejected")


async def _apply_verdict(call: ApiCall, verdict: str) -> AgentSummary:
    row = await find(call, EDIT)
    epoch = call.request.match_info["epoch"]
    mine = select(epochs.c.epoch).where(epochs.c.agent_id == row.id).order_by(epochs.c.epoch)
    await call.connection.execute(mine.with_for_update())  # as the writer does, before the audit
    await call.turn()
    if verdict == "accepted":
        followers = call.use(FOLLOWERS)
        found = await believed.accept(call.connection, row.id, epoch, call.now, followers)
    else:
        found = await believed.reject(call.connection, row.id, epoch)
    if not found:
        raise not_found(f"quarantined epoch {epoch}")
    await call.audit(f"epoch.{verdict}", f"agent/{row.name}", detail={"epoch": epoch})
    return agent_of(await row_of(call, row.id), call)


async def _locked_agent(call: ApiCall) -> AgentRow:
    """Read the agent once its writer waits: locks in the writer's order, then the audit."""
    await find(call, EDIT)
    mine = select(epochs.c.epoch).where(epochs.c.agent_id == call.id).order_by(epochs.c.epoch)
    await call.connection.execute(mine.with_for_update())
    await call.turn()
    row = await row_of(call, call.id)
    status = agent_of(row, call).status
    if status not in (AgentStatus.CONNECTED, AgentStatus.STALE):
        remedy = "Ask again when it is connected: only the agent can tell what there is."
        raise _not_now(503, f"agent {row.name} is {status}", "agent-away", remedy)
    return row


async def _record_change(
    call: ApiCall, row: AgentRow, action: str, counts: dict[str, int]
) -> AgentSummary:
    name, id_ = row.name, row.id
    await call.audit(action, f"agent/{name}", detail=counts)
    await note(call.connection, call.account, "agent.changed", name, "", id_, {"action": action})
    return agent_of(await row_of(call, id_), call)


def _not_now(status: int, detail: str, rule: str, remedy: str = "Wait.") -> ProblemError:
    return ProblemError(status, detail, rule=rule, remedy=remedy)


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/agents/{id}/rebuild",
        needs=EDIT,
        handler=rebuild_agent,
        gives=AgentSummary,
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/deletions/accept",
        needs=EDIT,
        handler=accept_deletions,
        gives=AgentSummary,
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/epochs/{epoch}/accept",
        needs=EDIT,
        handler=accept_epoch,
        gives=AgentSummary,
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/epochs/{epoch}/reject",
        needs=EDIT,
        handler=reject_epoch,
        gives=AgentSummary,
    ),
)
