"""Decisions about an agent that a person confirms: `gitops agent rebuild`, epochs, deletions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, tables
from cli.remote.agents import AgentArgument
from cli.remote.confirmation import YesOption, confirm
from cli.remote.errors import ServiceError
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import AgentSummary

app = new_group()

EXITS = f"Exit codes: 0 done, 2 there is nothing of the kind, {command_runner.REFUSALS}."


@dataclass(frozen=True, slots=True, kw_only=True)
class CareDecision:
    """A verb of the API on an agent, with its consequence as the question names it."""

    verb: str
    consequence: str
    yes: bool
    as_json: bool
    epoch: str | None = None
    """None where the verb is not about one, empty for the one that is quarantined."""


@app.command(epilog=EXITS)
def rebuild(
    agent: AgentArgument,
    context: command_runner.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Forget what the service shows of an agent and ask for all of it again; asks first."""
    consequence = "what the service shows of it is deleted and requested again"
    decision = CareDecision(verb="rebuild", consequence=consequence, yes=yes, as_json=as_json)
    carry_out(decision, agent, context)


def carry_out(decision: CareDecision, agent: str, context: str) -> None:
    """Ask the person, send the decision to the service, and show the agent afterwards."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.agent(client, agent)
        about, epoch = "/", decision.epoch
        if epoch is not None:
            about = f"{find.path('epochs', epoch or _quarantined(found))}/"
        confirm(f"agent {found.name}: {decision.consequence}", yes=decision.yes)
        plain = await client.post(f"{find.path('agents', found.id)}{about}{decision.verb}")
        _show(found, plain, as_json=decision.as_json)
        return output.Exit.FINE

    command_runner.call(context, work)


def _quarantined(agent: AgentSummary) -> str:
    if not agent.quarantined:
        raise ServiceError(f"agent {agent.name}: no epoch is quarantined", output.Exit.BAD_INPUT)
    return agent.quarantined.epoch


def _show(agent: AgentSummary, plain: Mapping[str, Any], *, as_json: bool) -> None:
    if as_json:
        output.line(plain)
    else:
        now = answers.read(plain, AgentSummary) if "status" in plain else agent
        tables.line(now.name, tables.status(now.status), f"{now.applications} applications")


@app.command(name="accept", epilog=EXITS)
def accept_deletions(
    agent: AgentArgument,
    context: command_runner.ContextOption = "",
    *,
    yes: YesOption = False,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Confirm deletions that were held because they were many at once; a person is asked first."""
    decision = CareDecision(
        verb="deletions/accept",
        consequence="what is held as deleted is removed from the service",
        yes=yes,
        as_json=as_json,
    )
    carry_out(decision, agent, context)
