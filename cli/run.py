"""`gitops agent run`: the process around the agent: settings, logs, loop, signals, exit code."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator

import structlog
import uvloop

from agent.app import Agent
from agent.child import ChildNotReadyError
from agent.configuration import EXIT_CODE, InvalidSettingsError, load
from agent.kube.config import KubeConfigError
from agent.observe.logs import configure
from agent.own_secrets import OwnSecretError
from agent.parts import open_parts
from agent.sandbox.binary import SandboxMissingError
from agent.settings import Settings
from agent.shutdown import Stopping, stopping
from bus.carrier import CarrierError

log = structlog.get_logger()

CANNOT_START = 3
"""Something the agent needs is not there; the message says what and what to do."""
_EXPECTED = (
    CarrierError,
    ChildNotReadyError,
    KubeConfigError,
    OwnSecretError,
    SandboxMissingError,
)


def run_agent() -> int:
    """The exit code: 0 told to stop, 2 settings, 3 a part is missing."""
    try:
        settings = load()
    except InvalidSettingsError as error:
        print(error, file=sys.stderr)  # noqa: T201  before logging is configured
        return EXIT_CODE
    configure(settings.log.level, settings.log.format)
    try:
        return uvloop.run(_run(settings))
    except _EXPECTED as error:
        return _ended((error,))
    except BaseExceptionGroup as group:
        expected, unexpected = group.split(_EXPECTED)
        if expected is None or unexpected is not None:
            raise
        return _ended(tuple(_leaves(expected)))


async def _run(settings: Settings) -> int:
    async with stopping() as told, open_parts(settings) as parts:
        agent = Agent(parts=parts, identity=_identity())
        async with asyncio.TaskGroup() as tasks:
            relay = tasks.create_task(_relay(told, agent), name="stop-on-signal")
            await agent.run()
            relay.cancel()
    log.info("stopped")
    return 0


async def _relay(told: Stopping, agent: Agent) -> None:
    await told.wait()
    agent.stop.set()


def _identity() -> str:
    return f"{socket.gethostname()}_{os.getpid()}"


def _ended(errors: tuple[Exception, ...]) -> int:
    for error in errors:
        log.error("agent ended", cause=str(error), kind=type(error).__name__)
    return CANNOT_START


def _leaves(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
