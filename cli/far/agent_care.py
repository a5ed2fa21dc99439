"""`gitops agent rebuild`, and how this and the verdicts on epochs and deletions are told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli import say
from cli.far import calling, find, shapes, show
from cli.far.agents import AgentArgument
from cli.far.client import Far
from cli.far.errors import FarError

app = calling.new_app()

EXITS = f"Exit codes: 0 done, 2 there is nothing of the kind, {calling.REFUSALS}."


@app.command(epilog=EXITS)
def rebuild(
    agent: AgentArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Forget what the service shows of this agent, and ask for all of it again."""
    done(agent, "rebuild", context, as_json=as_json)


def done(agent: str, verb: str, context: str, *, epoch: str | None = None, as_json: bool) -> None:
    """`epoch`: None where the verb is not about one, empty for the one that is quarantined."""

    async def work(far: Far) -> say.Exit:
        found = await find.agent(far, agent)
        about = "" if epoch is None else f"{find.path('epochs', epoch or _quarantined(found))}/"
        plain = await far.post(f"{find.path('agents', found.id)}{about or '/'}{verb}")
        _tell(found, plain, as_json=as_json)
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
