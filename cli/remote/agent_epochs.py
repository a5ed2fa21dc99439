"""`gitops agent epochs accept|reject`: a person decides about a quarantined epoch.

A quarantined epoch belongs to a cluster that does not resemble what the service knows of it.
Nothing of the epoch is shown until a person has decided.
"""

from __future__ import annotations

from typing import Annotated

import typer

from cli.command import new_group
from cli.remote import agent_care, command_runner
from cli.remote.agents import AgentArgument
from cli.remote.confirmation import YesOption

app = new_group()

EpochArgument = Annotated[
    str, typer.Argument(metavar="[EPOCH]", help="Where several wait; else the one that does.")
]


@app.command(name="accept", epilog=agent_care.EXITS)
def accept_epoch(
    agent: AgentArgument,
    epoch: EpochArgument = "",
    context: command_runner.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Accept a quarantined epoch: it replaces what was known. A person is asked first."""
    decision = agent_care.CareDecision(
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
    context: command_runner.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Reject a quarantined epoch: what was known stays. A person is asked first."""
    decision = agent_care.CareDecision(
        verb="reject",
        consequence="what the quarantined epoch reports is deleted",
        yes=yes,
        as_json=as_json,
        epoch=epoch,
    )
    agent_care.carry_out(decision, agent, context)
