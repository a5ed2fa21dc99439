"""`gitops events` by way of the service: replayed, followed, taken up again after a cut."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from agent.loopback import free_port
from bus.link import LinkItem
from service.lifecycle import now
from tests.service.fake_agent import application
from tests.service.service_fixture import open_service, settings
from tests.unit.cli.conftest import ROOT
from tests.unit.cli.service_fixture import AnsweringAgent, ServiceFixture, answering


def fact(agent: AnsweringAgent, type_: str, subject: str = "argocd/shop", **body: Any) -> LinkItem:
    item = agent.outbox.fact(type_, subject, body)
    return msgspec.structs.replace(item, time=now().isoformat())


@dataclass
class Following:
    process: asyncio.subprocess.Process

    async def until(self, type_: str) -> list[dict[str, Any]]:
        """What came up to the fact of this type."""
        assert self.process.stdout is not None
        found: list[dict[str, Any]] = []
        async with asyncio.timeout(120):
            while not found or found[-1]["type"].removeprefix("fact.") != type_:
                found.append(json.loads(await self.process.stdout.readline()))
        return found

    async def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return await self.process.wait()


@asynccontextmanager
async def following(service: ServiceFixture, *arguments: str) -> AsyncIterator[Following]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-c", "from cli.main import main; main()", "events", "--follow", "--json", *arguments),
        env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_CONFIG_HOME": str(service.config)},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        yield Following(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_facts_are_replayed_in_order_and_by_type(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service) as agent:
        for type_ in ("app.compared.v1", "health.assessed.v1"):
            await agent.put(fact(agent, type_, status="Synced", note="\x1b]0;evil\x07"))
        everything = await service.run("events", "--json")
        one = await service.run("events", "--type", "app.compared")
    kinds = [it["type"] for it in everything.answers]
    assert (everything.code, kinds) == (0, ["fact.app.compared.v1", "fact.health.assessed.v1"])
    assert "argocd/shop  app.compared.v1 note= ]0;evil  status=Synced" in one.out
    assert "health.assessed" not in one.out
    assert "\x1b" not in one.out


async def test_one_application_is_followed_and_another_is_not_told(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    bodies = (application("shop"), application("other"))
    async with answering(service.running_service, *bodies) as agent:
        await agent.put(fact(agent, "first.v1"))
        async with following(service, "--app", "shop", "--type", "fact") as follower:
            await follower.until("first.v1")
            await agent.put(fact(agent, "second.v1", "argocd/other"), fact(agent, "third.v1"))
            events = await follower.until("third.v1")
            code = await follower.end()
    assert [it["type"] for it in events] == ["fact.third.v1"]
    assert code == 0


async def test_what_happens_while_the_service_is_away_is_told_once_it_is_back(
    service: ServiceFixture, database_url: str
) -> None:
    await service.log_in("viewer")
    at_port = settings(database_url).model_copy(update={"port": free_port()})
    async with answering(service.running_service) as agent, AsyncExitStack() as running:
        async with AsyncExitStack() as stack:
            other = await stack.enter_async_context(open_service(at_port))
            await service.move_to(other.url)
            await agent.put(fact(agent, "first.v1"))
            follower = await running.enter_async_context(following(service, "--type", "fact"))
            await follower.until("first.v1")
            await agent.put(fact(agent, "second.v1"))
            events = await follower.until("second.v1")
        await agent.put(fact(agent, "third.v1"))
        async with open_service(at_port):
            await agent.put(fact(agent, "fourth.v1"))
            events += await follower.until("fourth.v1")
    assert [it["type"] for it in events] == ["fact.second.v1", "fact.third.v1", "fact.fourth.v1"]


async def test_who_is_not_logged_in_reads_no_service(service: ServiceFixture) -> None:
    await service.log_in("viewer")
    ended = await service.run("events", "--context", "nobody")
    await service.run("logout")
    ran = await service.run("events")
    assert (ended.code, ran.code) == (2, 2)
    assert "gitops login URL" in ran.err
