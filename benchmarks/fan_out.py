"""fan_out: one change, N browsers. How many messages a second, and how late is the last one?

A service on a real PostgreSQL in this process, the subscribers in another. First a burst: all
messages in a few transactions, as fast as they go; then a steady rate, for the lag that people see:
from before the transaction to the subscriber's socket.

    python -m benchmarks.fan_out --subscribers 500 --repeat 3 --json bench-results/fan_out.json
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
from sqlalchemy import insert, select

from benchmarks.alone import Alone, parser_of, run_alone
from benchmarks.figures import Figure
from benchmarks.listeners import Round
from bus.identity import new_id
from playground.postgres import postgres_server
from service.auth.credentials import API_TOKEN, hash_of, new_secret
from service.lifecycle import Service, open_service
from service.settings import ServiceSettings
from service.store.changes import FeedChange, note_all
from service.store.tables import accounts, api_tokens, bindings, principals, roles

WORK = "one change feed, N subscribers over HTTP: a burst, then a steady rate"
_BURST, _PER_TRANSACTION = 1000, 100
_STEADY, _RATE = 200, 20.0
_PEOPLE = 10
"""Each connects below the API's rate limit."""
_LAG_AIM = 1000.0


async def fan_out(count: int) -> tuple[Figure, ...]:
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder:
        async with postgres_server(Path(folder)) as server:
            settings = ServiceSettings(
                database_url=SecretStr(server.url),
                key_file=Path(folder) / "service.key",
                key_generate=True,
                port=0,
                metrics_port=0,
                migrate=True,
                listeners_per_principal=5000,
            )
            async with open_service(settings) as service:
                return await _measured(service, count)


async def _measured(service: Service, count: int) -> tuple[Figure, ...]:
    account, tokens = await people(service)
    async with _listeners(service.url, tokens, count) as received:
        for _ in range(_BURST // _PER_TRANSACTION):
            await _publish(service, account, _PER_TRANSACTION)
        burst = await _round(received)
        for _ in range(_STEADY):
            await _publish(service, account, 1)
            await asyncio.sleep(1 / _RATE)
        steady = await _round(received)
    at = f"at {_RATE:g} changes/s"
    return (
        Figure(name="burst: messages", unit="/s", value=burst.received / burst.seconds),
        Figure(name="burst: lag, p99", unit="ms", value=burst.p99_ms),
        Figure(name=f"{at}: messages", unit="/s", value=steady.received / steady.seconds),
        Figure(name=f"{at}: lag, p50", unit="ms", value=steady.p50_ms),
        Figure(name=f"{at}: lag, p99", unit="ms", value=steady.p99_ms, aim=_LAG_AIM),
    )


async def _publish(service: Service, account: str, count: int) -> None:
    """As large as a change of an application is."""
    body = {"sync": "Synced", "health": "Healthy", "revision": "a" * 40, "id": new_id()}
    found = [
        FeedChange(
            type="application.changed",
            subject=f"argocd/app-{number}",
            project="default",
            body={**body, "sentAt": time.time()},
        )
        for number in range(count)
    ]
    async with service.dependencies.engine.begin() as connection:
        await note_all(connection, account, found)


async def people(service: Service) -> tuple[str, list[str]]:
    tokens = [new_secret(API_TOKEN) for _ in range(_PEOPLE)]
    async with service.dependencies.engine.begin() as connection:
        account = (await connection.execute(select(accounts.c.id))).scalar_one()
        viewer = select(roles.c.id).where(roles.c.name == "viewer")
        role = (await connection.execute(viewer)).scalar_one()
        for number, token in enumerate(tokens):
            who = {"id": new_id(), "account_id": account, "kind": "service", "name": f"p{number}"}
            mine = {"account_id": account, "principal_id": who["id"]}
            await connection.execute(insert(principals).values(who))
            await connection.execute(insert(bindings).values(id=new_id(), role_id=role, **mine))
            made = {"id": new_id(), "name": "bench", "hash": hash_of(token), **mine}
            await connection.execute(insert(api_tokens).values(made))
    return account, tokens


@asynccontextmanager
async def _listeners(url: str, tokens: Sequence[str], count: int) -> AsyncIterator[Process]:
    """Connected; gone at the end."""
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "benchmarks.listeners", url, str(count), str(_BURST), str(_STEADY)),
        env={**os.environ, "FAN_OUT_TOKENS": ",".join(tokens)},
        stdout=PIPE,
    )
    try:
        ready = await _line(child)
        if ready != b"ready\n":
            raise RuntimeError("the subscribers could not connect")
        yield child
    finally:
        if child.returncode is None:
            child.kill()
        await child.wait()


async def _round(child: Process) -> Round:
    return msgspec.json.decode(await _line(child), type=Round)


async def _line(child: Process) -> bytes:
    assert child.stdout is not None
    async with asyncio.timeout(300):
        return await child.stdout.readline()


def alone(subscribers: int = 500) -> Alone:
    return Alone(
        benchmark="fan_out", work=WORK, size=subscribers, measure=lambda: fan_out(subscribers)
    )


def main(arguments: Sequence[str]) -> int:
    parser = parser_of("fan_out", __doc__)
    parser.add_argument("--subscribers", type=int, default=500, metavar="N")
    options = parser.parse_args(arguments)
    return run_alone(alone(options.subscribers), options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
