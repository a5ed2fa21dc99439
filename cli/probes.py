"""What `gitops agent check` tries: each part of the outside world once, with the agent's adapters.

A probe answers Findings and raises nothing that a wrong address, a refused login or a full disk can
cause: that is what it is for.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent.buses import bus_settings
from agent.child import ChildNotReadyError
from agent.embedded import nats_binary
from agent.sandbox.binary import SandboxMissingError, sandbox_binary
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.pool import Sandbox
from agent.sandbox.reasons import SandboxError
from agent.settings import Settings
from bus.carrier import CarrierError
from bus.jetstream import Bus
from handlers.manifest.redact import redact_text

SECONDS = 10.0
LEAST_FREE = 1 << 30


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    part: str
    ok: bool
    found: str
    remedy: str = ""


async def disk(settings: Settings) -> Finding:
    return await asyncio.to_thread(_disk, settings.state_dir)


def _disk(folder: Path) -> Finding:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            free = shutil.disk_usage(folder).free
    except OSError as e:
        remedy = "Give the agent a folder it may write to: GITOPS_STATE_DIR."
        return Finding(part="disk", ok=False, found=f"{folder}: {e.strerror}", remedy=remedy)
    found = f"{folder} is writable, {free / (1 << 30):.1f} GiB free"
    remedy = "" if free >= LEAST_FREE else "Make room: mirrors and artifacts need 1 GiB and more."
    return Finding(part="disk", ok=not remedy, found=found, remedy=remedy)


async def sandbox(settings: Settings) -> Finding:
    try:
        limits = SandboxLimits(workers=1, deadline=SECONDS)
        async with Sandbox(sandbox_binary(settings.sandbox.binary), limits) as worker:
            await worker.evaluate("yaml", {"file": "check"}, b"kind: List\napiVersion: v1\n")
            confined = ", ".join(sorted(worker.capabilities))
    except (SandboxMissingError, SandboxError, OSError) as e:
        remedy = "Build it with `make parts` and set GITOPS_SANDBOX_BINARY."
        return Finding(part="sandbox", ok=False, found=str(e), remedy=remedy)
    return Finding(part="sandbox", ok=True, found=f"answers; confined by {confined or 'nothing'}")


async def nats(settings: Settings) -> Finding:
    if settings.nats.url is None:
        return _embedded_nats()
    try:
        given = bus_settings(settings, settings.nats.url.get_secret_value())
        quick = replace(given, connect_seconds=SECONDS)
        async with asyncio.timeout(2 * SECONDS), Bus.open(quick) as bus:
            info = await bus.connection.jetstream.account_info()
    except (CarrierError, TimeoutError, OSError, ValueError) as e:
        remedy = "Check GITOPS_NATS_URL, the credentials, and that JetStream is enabled."
        found = redact_text(str(e)) or "no answer in time"
        return Finding(part="nats", ok=False, found=found, remedy=remedy)
    return Finding(part="nats", ok=True, found=f"{quick.hosts}: JetStream, {info.streams} streams")


def _embedded_nats() -> Finding:
    try:
        binary = nats_binary()
    except ChildNotReadyError as e:
        remedy = "Set GITOPS_NATS_URL, or install the extra `embedded`."
        return Finding(part="nats", ok=False, found=str(e), remedy=remedy)
    return Finding(part="nats", ok=True, found=f"no URL: a child server is started ({binary})")


async def redis(settings: Settings) -> Finding:
    if settings.redis.url is None:
        return Finding(part="redis", ok=True, found="not configured: artifacts on disk only")
    client = Redis.from_url(
        settings.redis.url.get_secret_value(),
        socket_timeout=SECONDS,
        socket_connect_timeout=SECONDS,
    )
    try:
        await client.ping()
    except (RedisError, OSError) as e:
        remedy = "Check GITOPS_REDIS_URL; without Redis the agent works from its disk."
        return Finding(part="redis", ok=False, found=redact_text(str(e)), remedy=remedy)
    finally:
        await client.aclose()
    return Finding(part="redis", ok=True, found="answers")
