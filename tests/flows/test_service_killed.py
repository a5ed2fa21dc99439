"""`kill -9` of the service while commands are under way: each done once, its end known."""

import asyncio
import random
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from playground.demo.control_plane import DemoService, open_demo_service
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import allow, linked_by
from tests.support import eventually

pytestmark = pytest.mark.timeout(300)

SEED = 20260102
ROUNDS = 5
_ENDED = ("succeeded", "failed", "expired", "cancelled", "unknown")


@pytest.fixture
async def fake_service(database_url: str, tmp_path: Path) -> AsyncIterator[DemoService]:
    """The service as a process of its own, and its administrator."""
    async with open_demo_service(tmp_path / "fake_service", database_url) as fake_service:
        yield fake_service


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, fake_service: DemoService, tmp_path: Path
) -> AgentFixture:
    await allow(stopped_agent)
    token = await fake_service.new_agent("prod", "production", "eu")
    return linked_by(token, fake_service.url, stopped_agent, tmp_path)


async def order(fake_service: DemoService, application: str, key: str) -> str:
    """The id of the task; asked again with the same key until there is an answer, as people do."""
    headers = {
        "X-CSRF-Token": fake_service.csrf,
        "Origin": fake_service.url,
        "Idempotency-Key": key,
    }
    path = f"/api/v1/applications/{application}/sync"

    async def answered() -> str:
        try:
            async with fake_service.session.post(path, json={}, headers=headers) as answer:
                body = await answer.json()
        except aiohttp.ClientError:
            return ""
        assert answer.status == 202, body
        return str(body["task"]["id"])

    return await eventually(answered, within=120, what="an answer to the command")


async def ended(fake_service: DemoService, task: str) -> dict[str, Any]:
    async def end() -> dict[str, Any]:
        try:
            answer = await fake_service.get(f"/tasks/{task}")
        except aiohttp.ClientError:
            return {}
        return answer if answer["phase"] in _ENDED else {}

    return await eventually(end, within=120, what="an end of the command")


async def test_a_killed_service_loses_no_command_and_has_none_done_twice(
    linked_agent: AgentFixture, fake_service: DemoService
) -> None:
    chance = random.Random(SEED)  # noqa: S311  a test repeats itself
    linked_agent.commit({"web/config.yaml": config_map("web", n="0")})
    async with linked_agent.running():
        await linked_agent.apply_app("web", "web")
        found = await eventually(
            lambda: fake_service.application("prod", "web"), what="it is shown"
        )
        ends, keys = [], [uuid.uuid4().hex for _ in range(ROUNDS)]
        for number, key in enumerate(keys, 1):
            linked_agent.commit({"web/config.yaml": config_map("web", n=str(number))})
            request = asyncio.create_task(order(fake_service, found["id"], key), name="ask")
            await asyncio.sleep(chance.uniform(0, 0.4))  # where in its work the kill hits it
            fake_service.server.kill()
            await fake_service.server.start()
            ends.append(await ended(fake_service, await request))
        app = await linked_agent.app("web")
        answer = await fake_service.get("/tasks?limit=100")
        verdict = await fake_service.get("/audit/verify")
    assert {one["phase"] for one in ends} == {"succeeded"}, ends
    assert len({one["id"] for one in ends}) == ROUNDS
    assert len([one for one in answer["items"] if one["kind"] == "sync"]) == ROUNDS
    assert len(app["status"]["history"]) == ROUNDS
    assert verdict["ok"], verdict
