"""`kill -9` of the service while commands are under way: each done once, its end known."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from playground.demo.far_end import FarEnd, open_far_end
from tests.flows.house import House, config_map
from tests.flows.near import allow, linked_by
from tests.support import eventually

pytestmark = [pytest.mark.flow, pytest.mark.timeout(300)]

SEED = 20260102
ROUNDS = 5
_ENDED = ("succeeded", "failed", "expired", "cancelled", "unknown")


@pytest.fixture
async def far(database_url: str, tmp_path: Path) -> AsyncIterator[FarEnd]:
    """The service as a process of its own, and its administrator."""
    async with open_far_end(tmp_path / "far", database_url) as far:
        yield far


@pytest.fixture
async def linked(quiet_house: House, far: FarEnd, tmp_path: Path) -> House:
    await allow(quiet_house)
    token = await far.new_agent("prod", "production", "eu")
    return linked_by(token, far.url, quiet_house, tmp_path)


async def order(far: FarEnd, application: str, key: str) -> str:
    """The id of the task; asked again with the same key until there is an answer, as people do."""
    headers = {"X-CSRF-Token": far.csrf, "Origin": far.url, "Idempotency-Key": key}
    path = f"/api/v1/applications/{application}/sync"

    async def answered() -> str:
        try:
            async with far.session.post(path, json={}, headers=headers) as answer:
                body = await answer.json()
        except aiohttp.ClientError:
            return ""
        assert answer.status == 202, body
        return str(body["task"]["id"])

    return await eventually(answered, within=60, what="an answer to the command")


async def ended(far: FarEnd, task: str) -> dict[str, Any]:
    async def end() -> dict[str, Any]:
        try:
            told = await far.get(f"/tasks/{task}")
        except aiohttp.ClientError:
            return {}
        return told if told["phase"] in _ENDED else {}

    return await eventually(end, within=90, what="an end of the command")


async def test_a_killed_service_loses_no_command_and_has_none_done_twice(
    linked: House, far: FarEnd
) -> None:
    chance = random.Random(SEED)  # noqa: S311  a test repeats itself
    linked.commit({"web/config.yaml": config_map("web", n="0")})
    async with linked.running():
        await linked.apply_app("web", "web")
        found = await eventually(lambda: far.application("prod", "web"), what="it is shown")
        ends, keys = [], [uuid.uuid4().hex for _ in range(ROUNDS)]
        for number, key in enumerate(keys, 1):
            linked.commit({"web/config.yaml": config_map("web", n=str(number))})
            asking = asyncio.create_task(order(far, found["id"], key), name="ask")
            await asyncio.sleep(chance.uniform(0, 0.4))  # where in its work the kill hits it
            far.server.kill()
            await far.server.start()
            ends.append(await ended(far, await asking))
        app = await linked.app("web")
        told = await far.get("/tasks?limit=100")
        verdict = await far.get("/audit/verify")
    assert {one["phase"] for one in ends} == {"succeeded"}, ends
    assert len({one["id"] for one in ends}) == ROUNDS
    assert len([one for one in told["items"] if one["kind"] == "sync"]) == ROUNDS
    assert len(app["status"]["history"]) == ROUNDS
    assert verdict["ok"], verdict
