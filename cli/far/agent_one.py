"""`gitops agent get`: one agent: is it there, what does it stand on, what may be done with it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from cli import say
from cli.far import calling, find, shapes, show
from cli.far.agents import AgentArgument
from cli.far.client import Far
from cli.far.text import age

app = calling.new_app()

_SKEW_MS = 5000
"""From here on a clock is worth a word."""


@app.command(
    name="get", epilog=f"Exit codes: 0 fine, 2 there is no such agent, {calling.REFUSALS}."
)
def get(
    agent: AgentArgument,
    context: calling.ContextOption = "",
    *,
    as_json: calling.JsonOption = False,
) -> None:
    """One agent: its link, its parts, and what this control plane may do there."""

    async def work(far: Far) -> say.Exit:
        found = await find.agent(far, agent)
        plain = await far.get(find.path("agents", found.id))
        if as_json:
            say.line(plain)
        else:
            detail = shapes.read(plain, shapes.AgentDetail)
            _tell(shapes.read(plain, shapes.Agent), detail, datetime.now(UTC))
        return say.Exit.FINE

    calling.call(context, work)


def _tell(it: shapes.Agent, more: shapes.AgentDetail, now: datetime) -> None:
    show.facts(
        (
            ("Agent", it.name),
            ("Environment", f"{it.environment} {it.region}".strip()),
            ("Status", show.status(it.status)),
            ("heard", age(it.heard_at, now)),
            ("clock", _skew(more.clock_skew_ms)),
            ("Version", it.version),
            ("upgrade", it.upgrade_available or ""),
            ("Applications", str(it.applications)),
            ("In step", _in_step(more, now)),
            ("May here", _allowed(more.allowed)),
        )
    )
    for part in more.components:
        show.line(show.status(part.status), part.name, part.version, part.message, indent=1)
    for sentence in _wants(it):
        show.line("!", sentence)


def _skew(ms: int | None) -> str:
    if ms is None or abs(ms) < _SKEW_MS:
        return ""
    return f"{abs(ms) // 1000} s {'ahead of' if ms > 0 else 'behind'} the service's"


def _in_step(it: shapes.AgentDetail, now: datetime) -> str:
    if it.roots_in_step is None:
        return ""
    return f"{'yes' if it.roots_in_step else 'no'}, compared {age(it.roots_at, now)} ago"


def _allowed(limits: shapes.Limits) -> str:
    """As its owner wrote it in the cluster; the service cannot exceed it."""
    doing = "only look" if limits.read_only else f"tasks: {', '.join(limits.kinds) or 'none'}"
    where = f"namespaces: {', '.join(limits.namespaces) or 'none'}"
    kinds = f"objects: {', '.join(limits.object_kinds)}" if limits.object_kinds else ""
    scope = "" if limits.cluster_scoped else "nothing without a namespace"
    override = "" if limits.override else "no override"
    rate = f"{limits.max_per_minute} changes a minute" if limits.max_per_minute else ""
    return "; ".join(part for part in (doing, where, kinds, scope, override, rate) if part)


def _wants(it: shapes.Agent) -> Iterator[str]:
    """What waits for a person, and with which command."""
    if it.status == "waiting":
        yield f"it was never connected: gitops agent manifest {it.name} | kubectl apply -f -"
    if it.quarantined:
        reason = it.quarantined.get("reason") or "it does not resemble what is known"
        yield f"a new epoch is kept apart ({reason}): gitops agent epochs accept {it.name}"
    if it.deletions:
        yield f"deletions are held because they were many: gitops agent deletions accept {it.name}"
    if it.rebuilding_since:
        yield "what is shown of it is being rebuilt"
