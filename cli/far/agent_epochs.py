"""`gitops agent epochs accept|reject`: what only a person decides.

A quarantined epoch is a cluster that does not resemble what is known of it. Nothing of it is
believed until somebody has looked.
"""

from __future__ import annotations

from typing import Annotated

import typer

from cli.far import agent_care, calling
from cli.far.agents import AgentArgument

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
    as_json: calling.JsonOption = False,
) -> None:
    """Believe a quarantined epoch: what it says replaces what was known."""
    agent_care.done(agent, "accept", context, epoch=epoch, as_json=as_json)


@app.command(name="reject", epilog=agent_care.EXITS)
def reject_epoch(
    agent: AgentArgument,
    epoch: EpochArgument = "",
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """Forget a quarantined epoch: what was known stays."""
    agent_care.done(agent, "reject", context, epoch=epoch, as_json=as_json)
