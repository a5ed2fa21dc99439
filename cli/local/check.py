"""`gitops agent check`: what the agent would reach and may do with these settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.text import Text

from agent.configuration import unknown_variables
from agent.settings import Settings
from cli import output
from cli.command import new_app
from cli.local import probes
from cli.local.cluster_probe import cluster
from cli.local.probes import Finding
from cli.local.settings import load_or_stop
from cli.remote import tables

app = new_app()


@app.command(epilog="Exit codes: 0 all is well, 1 something is not, 2 the settings are wrong.")
def check(
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one line of JSON a finding.")
    ] = False,
) -> None:
    """Check NATS, the cluster and our rights there, repositories, Redis, disk and sandbox."""
    output.as_it_comes()
    settings = load_or_stop()
    findings = [*_settings(), *asyncio.run(_all(settings))]
    if as_json:
        for finding in findings:
            output.line(msgspec.structs.asdict(finding))
    else:
        _show(findings)
    failed = any(not finding.ok for finding in findings)
    raise typer.Exit(output.Exit.NO if failed else output.Exit.FINE)


def _settings() -> list[Finding]:
    strange = [
        Finding(part="settings", ok=False, found=each, remedy="Remove or rename the variable.")
        for each in unknown_variables(os.environ)
    ]
    return strange or [Finding(part="settings", ok=True, found="valid")]


async def _all(settings: Settings) -> Sequence[Finding]:
    async with asyncio.TaskGroup() as tasks:
        singles = [
            tasks.create_task(probe(settings), name=f"check-{probe.__name__}")
            for probe in (probes.disk, probes.sandbox, probes.plugins, probes.nats, probes.redis)
        ]
        at_cluster = tasks.create_task(cluster(settings), name="check-cluster")
    return [*(task.result() for task in singles), *at_cluster.result()]


def _show(findings: Sequence[Finding]) -> None:
    """Print each part with its verdict, and below a failed part what to do about it."""
    for it in findings:
        verdict = Text("ok", style="green") if it.ok else Text("failed", style="red")
        tables.line(verdict, f"{it.part}:", it.found)
        if it.remedy:
            tables.line("->", it.remedy, indent=2)
