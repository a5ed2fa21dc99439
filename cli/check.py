"""`gitops agent check`: what the agent would reach and may do with these settings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Annotated

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from agent.configuration import unknown_variables
from agent.settings import Settings
from cli import probes, say
from cli.cluster_probe import cluster
from cli.far.show import console
from cli.probes import Finding
from cli.settings import load_or_stop

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(epilog="Exit codes: 0 all is well, 1 something is not, 2 the settings are wrong.")
def check(
    *, as_json: Annotated[bool, typer.Option("--json", help="One line of JSON a finding.")] = False
) -> None:
    """Try NATS, the cluster and our rights there, repositories, Redis, disk and sandbox."""
    say.as_it_comes()
    settings = load_or_stop()
    findings = [*_settings(), *asyncio.run(_all(settings))]
    if as_json:
        for finding in findings:
            say.line(msgspec.structs.asdict(finding))
    else:
        console().print(_table(findings))
    failed = any(not finding.ok for finding in findings)
    raise typer.Exit(say.Exit.NO if failed else say.Exit.FINE)


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
            for probe in (probes.disk, probes.sandbox, probes.nats, probes.redis)
        ]
        at_cluster = tasks.create_task(cluster(settings), name="check-cluster")
    return [*(task.result() for task in singles), *at_cluster.result()]


def _table(findings: Sequence[Finding]) -> Table:
    table = Table("Part", "", "Found", "What to do", box=None, pad_edge=False)
    for finding in findings:
        verdict = "[green]ok[/]" if finding.ok else "[red]failed[/]"
        table.add_row(finding.part, verdict, Text(finding.found), Text(finding.remedy))
    return table
