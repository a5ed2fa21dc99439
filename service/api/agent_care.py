"""Care for what is known of an agent: rebuild it from the agent, believe many deletions at once.

Both are wishes to the agent's link, so they need one; what comes of them is seen in the agent.
"""

from __future__ import annotations

from sqlalchemy import RowMapping, select, update

from service.access.permissions import Permission
from service.api.agents import Agent, agent_of, find, row_of
from service.api.call import Call
from service.api.endpoint import Endpoint, Nothing
from service.api.problem import ProblemError, not_found
from service.gateway.ladder import AgentStatus
from service.gateway.links import Wish, wish
from service.projection.rebuild import drop_cache
from service.store.changes import note
from service.store.tables import agents, epochs

EDIT = Permission.AGENT_EDIT


async def rebuild_agent(call: Call, _given: Nothing) -> Agent:
    """Forget what is shown of this agent, and ask it for all of it again."""
    row = await _begun(call)
    found = agent_of(row, call)
    if found.rebuilding_since is not None:
        raise _not_now(409, f"a rebuild has been running since {found.rebuilding_since}", "running")
    if found.quarantined is not None:
        remedy = "Accept or reject the epoch first."
        raise _not_now(409, "its reported state has not been accepted yet", "quarantined", remedy)
    await drop_cache(call.connection, row["id"], call.now)
    return await _told(call, row, "agent.rebuilt", {"applications": found.applications})


async def accept_deletions(call: Call, _given: Nothing) -> Agent:
    """Believe the many deletions that are held: do not wait for a second look."""
    row = await _begun(call)
    if not row["doubted"]:
        raise not_found("deletion that is held")
    await call.connection.execute(update(agents).where(agents.c.id == call.id).values(doubted={}))
    await wish(call.connection, Wish(agent_id=row["id"], deletions=True))
    kinds = {kind: it["count"] for kind, it in row["doubted"].items()}
    return await _told(call, row, "deletions.accepted", kinds)


async def _begun(call: Call) -> RowMapping:
    """The agent as it stands once its writer waits: locks in the writer's order, then the audit."""
    await find(call, EDIT)
    mine = select(epochs.c.epoch).where(epochs.c.agent_id == call.id).order_by(epochs.c.epoch)
    await call.connection.execute(mine.with_for_update())
    await call.turn()
    row = await row_of(call, call.id)
    status = agent_of(row, call).status
    if status not in (AgentStatus.CONNECTED, AgentStatus.STALE):
        remedy = "Ask again when it is connected: only the agent can tell what there is."
        raise _not_now(503, f"agent {row['name']} is {status}", "agent-away", remedy)
    return row


async def _told(call: Call, row: RowMapping, action: str, counts: dict[str, int]) -> Agent:
    name, id_ = row["name"], row["id"]
    await call.audit(action, f"agent/{name}", detail=counts)
    await note(call.connection, call.account, "agent.changed", name, "", id_, {"action": action})
    return agent_of(await row_of(call, id_), call)


def _not_now(status: int, detail: str, rule: str, remedy: str = "Wait.") -> ProblemError:
    return ProblemError(status, detail, rule=rule, remedy=remedy)


ENDPOINTS = (
    Endpoint(
        method="POST", path="/agents/{id}/rebuild", needs=EDIT, handler=rebuild_agent, gives=Agent
    ),
    Endpoint(
        method="POST",
        path="/agents/{id}/deletions/accept",
        needs=EDIT,
        handler=accept_deletions,
        gives=Agent,
    ),
)
