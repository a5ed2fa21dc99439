"""`gitops agent deletions accept`: more deletions at once than a cluster usually has are held."""

from __future__ import annotations

from cli.far import agent_care, calling
from cli.far.agents import AgentArgument
from cli.far.confirmation import YesOption

app = calling.new_app()


@app.command(name="accept", epilog=agent_care.EXITS)
def accept_deletions(
    agent: AgentArgument,
    context: calling.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Confirm deletions that were held because they were many at once; a person is asked first."""
    decision = agent_care.Decision(
        verb="deletions/accept",
        consequence="what is held as deleted is removed from the service",
        yes=yes,
        as_json=as_json,
    )
    agent_care.carry_out(decision, agent, context)
