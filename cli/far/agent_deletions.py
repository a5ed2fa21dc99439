"""`gitops agent deletions accept`: more deletions at once than a cluster usually has are held."""

from __future__ import annotations

from cli.far import agent_care, calling
from cli.far.agents import AgentArgument

app = calling.new_app()


@app.command(name="accept", epilog=agent_care.EXITS)
def accept_deletions(
    agent: AgentArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Believe the deletions that were held because they were many at once."""
    agent_care.done(agent, "deletions/accept", context, as_json=as_json)
