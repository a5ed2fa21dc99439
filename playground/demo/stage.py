"""A stage: something is done to the world, and something must then be seen.

`StageReport` is the file that `gitops demo --json` writes: its shape is a promise to scripts.
`observe` waits for what must be seen, and says what is there when it never comes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from playground.demo.running_demo import RunningDemo


import asyncio
from typing import Any

from agent.child_process import until
from playground.demo.running_demo import RunningDemo
from playground.kubeapi import KubeApiError

Run = Callable[["RunningDemo"], Awaitable[str]]
"""Does the deed and returns what was seen; raises StageFailedError with what was seen instead."""


class StageFailedError(Exception):
    """What was expected did not come true in time; the text is what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoStage:
    name: str
    expected: str
    run: Run


class StageOutcome(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    expected: str
    seen: str
    held: bool
    ms: int
    """From the deed to the sight, in milliseconds."""


class StageReport(msgspec.Struct, frozen=True, kw_only=True):
    stages: tuple[StageOutcome, ...]

    @property
    def held(self) -> bool:
        return all(stage.held for stage in self.stages)


WITHIN = 90.0

Observation = Callable[[], Awaitable[str]]
"""What is to be seen in words, or nothing as long as it is not so."""


async def observe(demo: RunningDemo, seen: Observation) -> str:
    """The first words; raises StageFailedError after `WITHIN` seconds."""
    words = ""

    async def so() -> bool:
        nonlocal words
        words = await seen()
        return bool(words)

    try:
        async with asyncio.timeout(WITHIN):
            await until(so)
    except TimeoutError as error:
        raise StageFailedError(await _instead(demo)) from error
    return words


async def _instead(demo: RunningDemo) -> str:
    """What is there, for the person who has to find out why."""
    try:
        apps = await demo.applications()
    except KubeApiError as error:
        return f"the applications cannot be read: {error}"
    states = [f"{spoken(app)} {app.get('status', {}).get('conditions', '')}" for app in apps]
    log = demo.laptop.agent.child.program.log
    return f"after {WITHIN:.0f} s: {'; '.join(states)}; log of the agent: {log}"


def spoken(app: dict[str, Any]) -> str:
    status = app.get("status", {})
    sync = status.get("sync", {}).get("status", "Unknown")
    health = status.get("health", {}).get("status", "Unknown")
    return f"{app['metadata']['name']} {sync}, {health}"
