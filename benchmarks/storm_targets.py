"""What a storm is sent to: a real agent and a real service, each with the loads that suit it."""

from __future__ import annotations

import itertools
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from agent.child_process import ChildProcess
from agent.ingress.webhooks.providers.github import sign
from benchmarks.agent_setup import AgentSetup, create_namespace, open_agent_setup, open_parts
from benchmarks.storm_load import EndingCounts, half_sent, requests_at_once
from benchmarks.storm_stream import Stream
from benchmarks.storm_watch import MemoryWatch
from benchmarks.workload import APPLICATIONS, DESTINATION, application, files, names
from playground.demo.control_plane import ADMINISTRATOR, open_demo_service
from playground.postgres import postgres_server
from playground.pushes import PushPayload, headers, payload

_RATE, _SECONDS, _SENDERS = 2000.0, 20.0, 200
_BODY = 1 << 19
"""Bytes sent of each half-sent body, of twice as many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How many of each."""

    heads: int = 5000
    bodies: int = 500
    webhooks_seconds: float = _SECONDS
    logins: int = 200


Load = Callable[[], Coroutine[None, None, EndingCounts]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One process under storm."""

    name: str
    port: int
    child: ChildProcess
    good: bytes
    loads: dict[str, Load]
    """By name, in their order."""

    @property
    def pid(self) -> int:
        if self.child.pid is None:
            raise RuntimeError(f"the {self.name} does not run")
        return self.child.pid

    @property
    def memory(self) -> MemoryWatch:
        return MemoryWatch(self.pid)


@asynccontextmanager
async def open_agent(folder: Path, sandbox: Path, size: Size) -> AsyncIterator[Target]:
    """An agent with one Application, whose repository the proven pushes are about."""
    async with open_parts(folder, sandbox) as ground, open_agent_setup(ground) as setup:
        await _furnish(setup)
        port = int(setup.url.rpartition(":")[2])
        event = "X-GitHub-Event: ping\r\nConnection: {}\r\nX-Hub-Signature-256: {}"
        forged = event.format("keep-alive", "sha256=" + "0" * 64)
        proven = event.format("close", sign(ground.webhook_secret.encode(), b"{}"))
        yield Target(
            name="agent",
            port=port,
            child=setup.agent,
            good=_post("/api/webhook", proven, b"{}"),
            loads={
                **_halves(port, "/api/webhook", forged, size),
                **_webhooks(setup, _post("/api/webhook", forged, b"{}"), size),
            },
        )


@asynccontextmanager
async def open_service(folder: Path, size: Size) -> AsyncIterator[Target]:
    async with (
        postgres_server(folder / "postgres") as database,
        open_demo_service(folder, database.url) as service,
    ):
        port = int(service.url.rpartition(":")[2])
        cookie = "; ".join(f"{it.key}={it.value}" for it in service.session.cookie_jar)
        good = f"GET /api/v1/me HTTP/1.1\r\nHost: x\r\nConnection: close\r\nCookie: {cookie}"
        json = "Content-Type: application/json"
        logins = partial(requests_at_once, port, size.logins, _login)
        yield Target(
            name="service",
            port=port,
            child=service.server.child,
            good=good.encode() + b"\r\n\r\n",
            loads={**_halves(port, "/api/v1/login", json, size), "logins": logins},
        )


async def _furnish(setup: AgentSetup) -> None:
    (name,) = names(1)
    setup.repository.commit(files((name,)), message="one application")
    await create_namespace(setup.cluster, DESTINATION)
    await setup.cluster.create(APPLICATIONS, application(name, setup.repository.url))


def _webhooks(setup: AgentSetup, forged: bytes, size: Size) -> dict[str, Load]:
    port, pushes = int(setup.url.rpartition(":")[2]), _pushes(setup)
    requests = {"forged webhooks": lambda _: forged, "proven pushes": pushes}
    return {
        name: Stream(
            port=port,
            rate=_RATE,
            seconds=size.webhooks_seconds,
            senders=_SENDERS,
            request=request,
        ).run
        for name, request in requests.items()
    }


def _pushes(setup: AgentSetup) -> Callable[[int], bytes]:
    """Pushes of the Application's branch, each a delivery of its own."""
    repository, run = setup.repository, secrets.token_hex(4)
    push = PushPayload(
        repository=repository.name,
        clone_url=repository.url,
        reference=f"refs/heads/{repository.branch}",
        before="1" * 40,
        after=repository.head(),
    )
    body = payload(push, repository.branch)
    proof = headers(body, setup.ground.webhook_secret, "%s")
    request = _post("/api/webhook", "\r\n".join(f"{it}: {proof[it]}" for it in proof), body)
    before, _, after = request.partition(b"%s")
    deliveries = itertools.count()
    return lambda _: b"%b%s-%d%b" % (before, run.encode(), next(deliveries), after)


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
