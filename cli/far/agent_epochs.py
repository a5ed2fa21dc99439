"""`gitops agent epochs accept|reject`: what only a person decides.

A quarantined epoch is a cluster that does not resemble what is known of it. Nothing of it is
believed until somebody has looked.
"""

from __future__ import annotations

from typing import Annotated

import typer

from cli.far import agent_care, calling
from cli.far.agents import AgentArgument
from cli.far.confirmation import YesOption

app = calling.new_app()

EpochArgument = Annotated[
    str, typer.Argument(metavar="[EPOCH]", help="Where several wait; else the one that does.")
]


@app.command(name="accept", epilog=agent_care.EXITS)
def accept_epoch(
    agent: AgentArgument,
    epoch: EpochArgument = "",
    context: calling.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Accept a quarantined epoch: it replaces what was known. A person is asked first."""
    decision = agent_care.Decision(
        verb="accept",
        consequence="what was known of it is replaced by what the quarantined epoch reports",
        yes=yes,
        as_json=as_json,
        epoch=epoch,
    )
    agent_care.carry_out(decision, agent, context)


@app.command(name="reject", epilog=agent_care.EXITS)
def reject_epoch(
    agent: AgentArgument,
    epoch: EpochArgument = "",
    context: calling.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: calling.JsonOption = False,
) -> None:
    """Reject a quarantined epoch: what was known stays. A person is asked first."""
    decision = agent_care.Decision(
        verb="reject",
        consequence="what the quarantined epoch reports is deleted",
        yes=yes,
        as_json=as_json,
        epoch=epoch,
    )
    agent_care.carry_out(decision, agent, context)
