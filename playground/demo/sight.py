"""Looking until something is to be seen, and saying what is there when it never is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agent.child import until
from playground.demo.house import House
from playground.demo.stage import NotHeldError
from playground.kubeapi import KubeApiError

WITHIN = 90.0

Sight = Callable[[], Awaitable[str]]
"""What is to be seen in words, or nothing as long as it is not so."""


async def sight(house: House, seen: Sight) -> str:
    """The first words; raises NotHeldError after `WITHIN` seconds."""
    words = ""

    async def so() -> bool:
        nonlocal words
        words = await seen()
        return bool(words)

    try:
        async with asyncio.timeout(WITHIN):
            await until(so)
    except TimeoutError as error:
        raise NotHeldError(await _instead(house)) from error
    return words


async def _instead(house: House) -> str:
    """What is there, for the person who has to find out why."""
    try:
        apps = await house.applications()
    except KubeApiError as error:
        return f"the applications cannot be read: {error}"
    told = [f"{spoken(app)} {app.get('status', {}).get('conditions', '')}" for app in apps]
    log = house.laptop.agent.child.program.log
    return f"after {WITHIN:.0f} s: {'; '.join(told)}; log of the agent: {log}"


def spoken(app: dict[str, Any]) -> str:
    status = app.get("status", {})
    sync = status.get("sync", {}).get("status", "Unknown")
    health = status.get("health", {}).get("status", "Unknown")
    return f"{app['metadata']['name']} {sync}, {health}"
