"""`gitops agent run`: the process around the agent: settings, logs, loop, signals, exit code."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Iterator

import structlog
import uvloop

from agent.agent_secrets import AgentSecretError
from agent.child_process import ChildNotReadyError
from agent.configuration import EXIT_CODE, InvalidSettingsError, load
from agent.dependencies import open_dependencies
from agent.kube.connection_config import KubeConfigError
from agent.kube.errors import ClusterReplacedError
from agent.lifecycle import Agent
from agent.observe.logs import configure
from agent.settings import Settings
from agent.shutdown import ShutdownSignal, stopping
from bus.carrier import CarrierError
from sandbox.client.binary import SandboxMissingError

log = structlog.get_logger()

CANNOT_START = 3
"""Something the agent needs is not there; the message says what and what to do."""
_EXPECTED = (
    CarrierError,
    ChildNotReadyError,
    KubeConfigError,
    AgentSecretError,
    SandboxMissingError,
)


def run_agent() -> int:
    """Run the agent; exit code 0 after a signal, 2 for bad settings, 3 for a missing part."""
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
    """Run the agent until a signal; start anew where its cluster was replaced by another."""
    async with stopping() as stop:
        while await _was_replaced(settings, stop):
            log.info("beginning anew with the cluster that answers now")
    log.info("stopped")
    return 0


async def _was_replaced(settings: Settings, stop: ShutdownSignal) -> bool:
    """Run one agent until its end: True where another cluster ended it, False after a signal."""
    replaced = False
    try:
        async with open_dependencies(settings) as parts:
            await _live(Agent(parts=parts, identity=_identity()), stop)
    except* ClusterReplacedError as errors:
        replaced = True
        log.warning("cluster replaced", cause=str(next(_leaves(errors))))
    return replaced


async def _live(agent: Agent, stop: ShutdownSignal) -> None:
    async with asyncio.TaskGroup() as tasks:
        relay = tasks.create_task(_relay(stop, agent), name="stop-on-signal")
        await agent.run()
        relay.cancel()


async def _relay(stop: ShutdownSignal, agent: Agent) -> None:
    await stop.wait()
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
