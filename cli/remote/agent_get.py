"""`gitops agent get`: the link, the components and the permissions of one agent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from cli import output
from cli.command import new_group
from cli.remote import answers, command_runner, find, tables
from cli.remote.agents import AgentArgument
from cli.remote.formatting import age
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import AgentPolicy, AgentSummary

app = new_group()

_SKEW_MS = 5000
"""From here on a clock is worth a word."""


@app.command(
    name="get", epilog=f"Exit codes: 0 fine, 2 there is no such agent, {command_runner.REFUSALS}."
)
def get(
    agent: AgentArgument,
    context: command_runner.ContextOption = "",
    *,
    as_json: command_runner.JsonOption = False,
) -> None:
    """Show one agent: its link, its components, and what this control plane may do there."""

    async def work(client: ServiceClient) -> output.Exit:
        found = await find.agent(client, agent)
        plain = await client.get(find.path("agents", found.id))
        if as_json:
            output.line(plain)
        else:
            _show(answers.read(plain, AgentSummary), datetime.now(UTC))
        return output.Exit.FINE

    command_runner.call(context, work)


def _show(it: AgentSummary, now: datetime) -> None:
    tables.facts(
        (
            ("Agent", it.name),
            ("Environment", f"{it.environment} {it.region}".strip()),
            ("Status", tables.status(it.status)),
            ("Last seen", _ago(it.heard_at, now)),
            ("Clock", _skew(it.clock_skew_ms)),
            ("Version", it.version),
            ("Upgrade", it.upgrade_available or ""),
            ("Applications", str(it.applications)),
            ("In sync", _in_step(it, now)),
            ("Permissions", _allowed(it.allowed)),
        )
    )
    for part in it.components:
        tables.line(tables.status(part.status), part.name, part.version, part.message, indent=1)
    for sentence in _open_decisions(it):
        tables.line("!", sentence)


def _ago(time: str | None, now: datetime) -> str:
    known = age(time, now)
    return "just now" if known == "now" else f"{known} ago" if known else ""


def _skew(ms: int | None) -> str:
    if ms is None or abs(ms) < _SKEW_MS:
        return ""
    return f"{abs(ms) // 1000} s {'ahead of' if ms > 0 else 'behind'} the service's"


def _in_step(it: AgentSummary, now: datetime) -> str:
    if it.roots_in_step is None:
        return ""
    return f"{'yes' if it.roots_in_step else 'no'}, compared {_ago(it.roots_at, now)}"


def _allowed(limits: AgentPolicy) -> str:
    """Format the policy that the cluster's owner wrote; the service cannot exceed it."""
    if limits.problem:
        return f"read only: its policy cannot be read ({limits.problem})"
    kinds_of_task = ", ".join(limits.kinds or ()) or "none"
    tasks = "read only" if limits.read_only else f"tasks: {kinds_of_task}"
    where = f"namespaces: {', '.join(limits.namespaces or ()) or 'none'}"
    kinds = f"objects: {', '.join(limits.object_kinds)}" if limits.object_kinds else ""
    scope = "nothing without a namespace" if limits.cluster_scoped is False else ""
    override = "no override" if limits.override is False else ""
    windows = "may override sync windows" if limits.override_window else ""
    rate = f"{limits.max_per_minute} changes a minute" if limits.max_per_minute else ""
    return "; ".join(part for part in (tasks, where, kinds, scope, override, windows, rate) if part)


def _open_decisions(it: AgentSummary) -> Iterator[str]:
    """List what waits for a person, with the command for it."""
    if it.status == "waiting":
        yield f"it was never connected: gitops agent manifest {it.name} | kubectl apply -f -"
    if it.quarantined:
        reason = it.quarantined.reason or "it does not resemble what is known"
        yield f"a new epoch is kept apart ({reason}): gitops agent epochs accept {it.name}"
    if it.deletions:
        yield f"deletions are held because they were many: gitops agent deletions accept {it.name}"
    if it.rebuilding_since:
        yield "what is shown of it is being rebuilt"
