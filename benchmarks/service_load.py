"""service_load: 50 agents of 200 Applications report to one service. How many reports a second?

A service on a real PostgreSQL in this process, agents and browser in another. First a burst: every
agent tells all it has at once; then steady reports, for the lag that people see: from before the
agent sends to the browser's socket.

    python -m benchmarks.service_load --agents 50 --applications 200 --json bench-results/load.json
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from pydantic import SecretStr
from sqlalchemy import text

from benchmarks.alone import Alone, parser_of, run_alone
from benchmarks.counters import look
from benchmarks.fan_out import people
from benchmarks.figures import Figure
from benchmarks.memory import resident
from benchmarks.simulated_agents import Burst, Steady
from playground.postgres import postgres_server
from service.lifecycle import Service, open_service
from service.settings import ServiceSettings
from tests.service.service_fixture import RunningService

WORK = "N agents at once, each with its applications; one browser listens"
_MIB = 2**20
_LAG_AIM = 1000.0


async def service_load(count: int, applications: int) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with postgres_server(Path(folder)) as server:
            settings = ServiceSettings(
                database_url=SecretStr(server.url),
                key_file=Path(folder) / "service.key",
                key_generate=True,
                port=0,
                metrics_port=0,
                migrate=True,
            )
            async with open_service(settings) as service:
                return await _measured(service, count, applications)


async def _measured(service: Service, count: int, applications: int) -> tuple[Figure, ...]:
    _, viewers = await people(service)
    tokens = await tokens_of(service, count)
    before, empty = resident(), await _database(service)
    async with simulated_agents(service.url, tokens, viewers[0], applications) as load:
        began, spent = look(), time.process_time()
        burst = msgspec.json.decode(await line_of(load), type=Burst)
        spent_burst, stored = time.process_time() - spent, await _database(service)
        steady = msgspec.json.decode(await line_of(load), type=Steady)
        others = look().others_share(began)
    size = await _database(service)
    return (
        Figure(name="burst: reports", unit="/s", value=burst.reports / burst.seconds),
        Figure(name="burst: all heard by the browser", unit="s", value=burst.heard_seconds),
        Figure(
            name="burst: service's CPU", unit="ms/report", value=spent_burst * 1000 / burst.reports
        ),
        Figure(name="steady: reports", unit="/s", value=steady.reports / steady.seconds),
        Figure(name="steady: not heard", unit="", value=steady.reports - steady.heard, aim=0),
        Figure(name="steady: report -> browser, p50", unit="ms", value=steady.p50_ms),
        Figure(name="steady: report -> browser, p99", unit="ms", value=steady.p99_ms, aim=_LAG_AIM),
        Figure(name="steady: report -> acknowledged, p99", unit="ms", value=steady.ack_p99_ms),
        Figure(name="service's memory, before", unit="MiB", value=before / _MIB),
        Figure(name="service's memory, after", unit="MiB", value=resident() / _MIB),
        Figure(name="database, empty", unit="MiB", value=empty / _MIB),
        Figure(name="database, after the burst", unit="MiB", value=stored / _MIB),
        Figure(name="database, at the end", unit="MiB", value=size / _MIB),
        Figure(name="the machine's CPU that others took", unit="%", value=others),
    )


async def tokens_of(service: Service, count: int) -> list[str]:
    running = RunningService(service)
    return [await running.token(await running.agent(f"agent-{n}"), 600) for n in range(count)]


async def _database(service: Service) -> int:
    async with service.dependencies.engine.connect() as connection:
        query = text("SELECT pg_database_size(current_database())")
        return int((await connection.execute(query)).scalar_one())


@asynccontextmanager
async def simulated_agents(
    url: str, tokens: Sequence[str], viewer: str, applications: int
) -> AsyncIterator[Process]:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "benchmarks.simulated_agents", url, str(applications)),
        env={**os.environ, "LOAD_TOKENS": ",".join(tokens), "FAR_LOAD_VIEWER": viewer},
        stdout=PIPE,
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def line_of(child: Process) -> bytes:
    assert child.stdout is not None
    async with asyncio.timeout(300):
        return await child.stdout.readline()


def alone(count: int = 50, applications: int = 200) -> Alone:
    return Alone(
        benchmark="service_load",
        work=WORK,
        size=count * applications,
        measure=lambda: service_load(count, applications),
    )


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("service_load", __doc__)
    parser.add_argument("--agents", type=int, default=50, metavar="N")
    parser.add_argument("--applications", type=int, default=200, metavar="M")
    options = parser.parse_args(arguments)
    return run_alone(alone(options.agents, options.applications), options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
