"""`gitops agent rebuild`, and how this and the verdicts on epochs and deletions are told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cli import say
from cli.far import calling, find, shapes, show
from cli.far.agents import AgentArgument
from cli.far.client import Far
from cli.far.confirmation import YesOption, confirm
from cli.far.errors import FarError

app = calling.new_app()

EXITS = f"Exit codes: 0 done, 2 there is nothing of the kind, {calling.REFUSALS}."


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verb of the API on an agent, with its consequence in words."""

    verb: str
    consequence: str
    yes: bool
    as_json: bool
    epoch: str | None = None
    """None where the verb is not about one, empty for the one that is quarantined."""


@app.command(epilog=EXITS)
def rebuild(
    agent: AgentArgument,
    context: calling.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Forget what the service shows of an agent and ask for all of it again; asks first."""
    consequence = "what the service shows of it is deleted and requested again"
    decision = Decision(verb="rebuild", consequence=consequence, yes=yes, as_json=as_json)
    carry_out(decision, agent, context)


def carry_out(decision: Decision, agent: str, context: str) -> None:
    """Ask the person, tell the service, show the agent as it is then."""

    async def work(far: Far) -> say.Exit:
        found = await find.agent(far, agent)
        about, epoch = "/", decision.epoch
        if epoch is not None:
            about = f"{find.path('epochs', epoch or _quarantined(found))}/"
        confirm(f"agent {found.name}: {decision.consequence}", yes=decision.yes)
        plain = await far.post(f"{find.path('agents', found.id)}{about}{decision.verb}")
        _tell(found, plain, as_json=decision.as_json)
        return say.Exit.FINE

    calling.call(context, work)


def _quarantined(agent: shapes.Agent) -> str:
    if not agent.quarantined:
        raise FarError(f"agent {agent.name}: no epoch is quarantined", say.Exit.BAD_INPUT)
    return str(agent.quarantined["epoch"])


def _tell(agent: shapes.Agent, plain: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        say.line(plain)
    else:
        now = shapes.read(plain, shapes.Agent) if "status" in plain else agent
        show.line(now.name, show.status(now.status), f"{now.applications} applications")
