"""storm: strangers send halves of requests and guesses. What does it take, and does it come back?

A real agent and a real service, processes of their own. To each in turn: half-sent heads, half-sent
bodies; then 2,000 forged webhooks a second to the agent, and parallel logins to the service. Good
requests go on meanwhile, each on a connection of its own. All of it twice: what a process takes at
its first storm and keeps is no leak, what it takes at the second is. Only loopback.

    python -m benchmarks.storm --heads 5000 --bodies 500 --json bench-results/storm.json
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from rich.console import Console

from agent.child import Child
from agent.ingress.webhooks.verify import sign
from benchmarks.alone import Alone, parser_of, run_alone
from benchmarks.figures import Figure
from benchmarks.house import open_ground, open_house
from benchmarks.processes import look
from benchmarks.storm_load import Ending, Endings, half_sent, requests_at_once, stream
from benchmarks.storm_watch import Good, Memory, many_files, meanwhile, settled
from playground.build import build_sandbox
from playground.demo.far_end import ADMINISTRATOR, open_far_end
from playground.postgres import postgres_server
from playground.screen import watching

WORK = "half-sent heads and bodies, forged webhooks, parallel logins; twice, with good requests"
_RATE, _SECONDS, _SENDERS = 2000.0, 20.0, 200
_BODY = 1 << 19
"""Bytes sent of each half-sent body, of twice as many."""
_MIB, _BACK = 2**20, 1.1
_FILES = 16_384
_WARM_SECONDS = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many of each."""

    heads: int = 5000
    bodies: int = 500
    webhooks_seconds: float = _SECONDS
    logins: int = 200


Load = Callable[[], Coroutine[None, None, Endings]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One process under storm."""

    name: str
    port: int
    child: Child
    good: bytes
    loads: dict[str, Load]
    """By name, in their order."""

    @property
    def memory(self) -> Memory:
        if self.child.pid is None:
            raise RuntimeError(f"the {self.name} does not run")
        return Memory(self.child.pid)


async def storm(size: Size) -> tuple[Figure, ...]:
    with watching(Console(stderr=True)) as watch:
        sandbox = build_sandbox(watch)
    with tempfile.TemporaryDirectory(prefix="gitops-bench-") as folder, many_files(_FILES):
        began = look()
        async with _agent(Path(folder), sandbox, size) as target:
            figures = await _measured(target)
        async with _service(Path(folder) / "service", size) as target:
            figures += await _measured(target)
        others = look().others_share(began)
    return (*figures, Figure(name="the machine's CPU that others took", unit="%", value=others))


@asynccontextmanager
async def _agent(folder: Path, sandbox: Path, size: Size) -> AsyncIterator[Target]:
    async with open_ground(folder, sandbox) as ground, open_house(ground) as house:
        port = int(house.url.rpartition(":")[2])
        event = "X-GitHub-Event: ping\r\nConnection: {}\r\nX-Hub-Signature-256: {}"
        forged = event.format("keep-alive", "sha256=" + "0" * 64)
        proven = event.format("close", sign(ground.webhook_secret.encode(), b"{}"))
        webhooks = partial(
            stream,
            port,
            _RATE,
            size.webhooks_seconds,
            _post("/api/webhook", forged, b"{}"),
            _SENDERS,
        )
        yield Target(
            name="agent",
            port=port,
            child=house.agent,
            good=_post("/api/webhook", proven, b"{}"),
            loads={**_halves(port, "/api/webhook", forged, size), "webhooks": webhooks},
        )


@asynccontextmanager
async def _service(folder: Path, size: Size) -> AsyncIterator[Target]:
    async with (
        postgres_server(folder / "postgres") as database,
        open_far_end(folder, database.url) as far,
    ):
        port = int(far.url.rpartition(":")[2])
        cookie = "; ".join(f"{it.key}={it.value}" for it in far.session.cookie_jar)
        good = f"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {cookie}"
        json = "Content-Type: application/json"
        logins = partial(requests_at_once, port, size.logins, _login)
        yield Target(
            name="service",
            port=port,
            child=far.server.child,
            good=good.encode() + b"\r\n\r\n",
            loads={**_halves(port, "/api/v1/login", json, size), "logins": logins},
        )


def _halves(port: int, path: str, headers: str, size: Size) -> dict[str, Load]:
    head = _post(path, headers, length=2 * _BODY)
    return {
        "half-sent heads": partial(half_sent, port, size.heads, head[:-2]),
        "half-sent bodies": partial(half_sent, port, size.bodies, head, _BODY),
    }


def _post(path: str, headers: str, body: bytes = b"", length: int = 0) -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: x", headers, f"Content-Length: {length or len(body)}")
    return "\r\n".join((*lines, "", "")).encode() + body


def _login(number: int) -> bytes:
    """Of the administrator and of names that nobody has: each takes a whole hash."""
    name = ADMINISTRATOR if number % 10 == 0 else f"stranger-{number}"
    body = f'{{"name": "{name}", "password": "{secrets.token_hex(8)}"}}'.encode()
    return _post("/api/v1/login", "Content-Type: application/json\r\nConnection: close", body)


async def _measured(target: Target) -> tuple[Figure, ...]:
    memory, log = target.memory, target.child.program.log
    async with meanwhile(target.port, target.good):
        await asyncio.sleep(_WARM_SECONDS)
    before, logged = memory.now(), log.stat().st_size
    memory.forget_peak()
    figures: list[Figure] = []
    for name, load in target.loads.items():
        async with meanwhile(target.port, target.good) as good:
            ends = await load()
        figures += _figures(f"{target.name}, {name}", ends, good)
    peak, after = memory.peak(), await settled(memory, int(before * _BACK))
    for load in target.loads.values():
        await load()
    again = await settled(memory, int(after * _BACK))
    return (
        *figures,
        _mib(f"{target.name}: memory before", before),
        _mib(f"{target.name}: memory, peak", peak),
        _mib(f"{target.name}: memory after", after, floor=before),
        _mib(f"{target.name}: memory after a second storm", again, floor=after),
        _mib(f"{target.name}: log grown in both", log.stat().st_size - logged),
    )


def _figures(name: str, ends: Endings, good: Good) -> list[Figure]:
    counts = [
        Figure(name=f"{name}: {ending}", unit="", value=ends[ending])
        for ending in (Ending.ANSWERED, Ending.REFUSED, Ending.CUT)
    ]
    return [
        *counts,
        Figure(name=f"{name}: {Ending.OPEN}", unit="", value=ends[Ending.OPEN], aim=0),
        Figure(name=f"{name}: good request meanwhile, p50", unit="ms", value=good.part(50)),
        Figure(name=f"{name}: the same, longest", unit="ms", value=good.part(100)),
        Figure(name=f"{name}: good requests that failed", unit="", value=good.failed, aim=0),
    ]


def _mib(name: str, value: int, floor: int | None = None) -> Figure:
    if floor is None:
        return Figure(name=name, unit="MiB", value=value / _MIB)
    return Figure(name=name, unit="MiB", value=value / _MIB, floor=floor / _MIB, aim=_BACK)


def alone(size: Size | None = None) -> Alone:
    chosen = size or Size()
    return Alone(benchmark="storm", work=WORK, size=chosen.heads, measure=lambda: storm(chosen))


def main(arguments: Sequence[str]) -> int:
    parser, size = parser_of("storm", __doc__), Size()
    parser.add_argument("--heads", type=int, default=size.heads, metavar="N")
    parser.add_argument("--bodies", type=int, default=size.bodies, metavar="N")
    parser.add_argument("--seconds", type=float, default=size.webhooks_seconds, metavar="S")
    parser.add_argument("--logins", type=int, default=size.logins, metavar="N")
    said = parser.parse_args(arguments)
    chosen = Size(
        heads=said.heads, bodies=said.bodies, webhooks_seconds=said.seconds, logins=said.logins
    )
    return run_alone(alone(chosen), said)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
