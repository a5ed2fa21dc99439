"""Webhooks on a real PostgreSQL, to receivers that are good, slow, away, or not where they say."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from sqlalchemy import select

from service.live.hooks.backoff import WAITS
from service.live.hooks.courier import Courier
from service.live.hooks.signing import DELIVERY, SIGNATURE, signature
from service.outgoing import AddressPolicy
from service.store.changes import Change
from service.store.tables import deliveries
from tests.service.api.world import Person, World
from tests.service.live.world import changed, tell
from tests.support import eventually

pytestmark = pytest.mark.flow
LOOPBACK = AddressPolicy(allowed=(ip_network("127.0.0.0/8"),), plain_http=True)


@dataclass
class Receiver:
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hold: asyncio.Event = field(default_factory=asyncio.Event)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""

    async def take(self, request: web.Request) -> web.Response:
        self.got.append((dict(request.headers), await request.read()))
        await self.hold.wait()
        return web.Response(status=self.status, headers=self.headers, text="what happened")


@pytest.fixture
async def receivers() -> AsyncIterator[Callable[[], Any]]:
    """Makes receivers; those that hold are let go at the end."""
    made: list[tuple[Receiver, TestServer]] = []

    async def make(*, holds: bool = False) -> Receiver:
        receiver = Receiver()
        app = web.Application()
        app.router.add_route("*", "/{any:.*}", receiver.take)
        server = TestServer(app)
        await server.start_server()
        receiver.url = f"http://127.0.0.1:{server.port}/hook"
        if not holds:
            receiver.hold.set()
        made.append((receiver, server))
        return receiver

    yield make
    for receiver, server in made:
        receiver.hold.set()
        await server.close()


@asynccontextmanager
async def couriers(world: World, count: int = 1) -> AsyncIterator[None]:
    """As replicas run them; waits are by the world's clock."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                Courier(
                    engine=world.engine,
                    signals=world.parts.signals,
                    clock=world.clock,
                    policy=LOOPBACK,
                    keys=world.parts.keys,
                    pause=0.05,
                ).run()
            )
            for _ in range(count)
        ]
        yield
        for task in tasks:
            task.cancel()


async def hook(world: World, url: str, **more: Any) -> str:
    values = {"account_id": world.account, "name": "n", "url": url, "secret": "whsec_x", **more}
    return await world.put("webhooks", **values)


async def states(world: World) -> list[tuple[str, int]]:
    query = select(deliveries.c.state, deliveries.c.attempts).order_by(deliveries.c.change_id)
    async with world.engine.connect() as connection:
        return [(it.state, it.attempts) for it in await connection.execute(query)]


async def test_deliveries_are_signed_and_filtered(world: World, receivers: Any) -> None:
    receiver = await receivers()
    await hook(world, receiver.url, types=["drift"])
    drift = Change(type="drift.began", subject="argocd/a", project="default")
    async with couriers(world):
        await tell(world, changed("argocd/a"), drift)
        await eventually(lambda: len(receiver.got) == 1)
    headers, body = receiver.got[0]
    time, _, given = headers[SIGNATURE].partition(",v1=")
    assert given == signature("whsec_x", body, int(time.removeprefix("t=")))
    assert b'"drift.began"' in body


async def test_each_change_is_delivered_once_by_two_replicas(world: World, receivers: Any) -> None:
    receiver = await receivers()
    await hook(world, receiver.url)
    async with couriers(world, 2):
        await tell(world, *(changed(f"argocd/{number}") for number in range(40)))
        await _until(world, [("delivered", 1)] * 40)
    assert len({headers[DELIVERY] for headers, _ in receiver.got}) == len(receiver.got) == 40


async def test_a_slow_receiver_delays_nobody(world: World, receivers: Any) -> None:
    slow, quick = await receivers(holds=True), await receivers()
    await hook(world, slow.url)
    await hook(world, quick.url, name="quick")
    async with couriers(world):
        await tell(world, *(changed(f"argocd/{number}") for number in range(20)))
        await eventually(lambda: len(quick.got) == 20)
        assert len(slow.got) == 1
        slow.hold.set()


async def test_a_failed_delivery_is_tried_again_until_it_is_dead_and_by_hand(
    world: World, receivers: Any
) -> None:
    receiver = await receivers()
    receiver.status = 500
    id_ = await hook(world, receiver.url, types=["application"])
    admin = await world.person("administrator")
    async with couriers(world):
        await tell(world, changed("argocd/a"))
        for attempt in range(1, len(WAITS) + 1):
            await _until_waiting(world, WAITS[attempt - 1])
            world.clock.on(seconds=WAITS[attempt - 1])
        await _until(world, [("dead", len(WAITS) + 1)])
        dead = await admin.get(f"/webhooks/{id_}/deliveries?state=dead")
        (item,) = dead.body["items"]
        assert item["answer"] == "500: the receiver did not accept it"
        receiver.status = 204
        path = f"/webhooks/{id_}/deliveries/{item['id']}/retry"
        assert (await admin.call("POST", path)).status == 200
        await _until(world, [("delivered", 1)])


async def test_a_webhook_is_made_shown_changed_and_removed(world: World) -> None:
    admin = await world.person("administrator")
    made = await _make(admin, "https://hooks.example/x")
    assert made.status == 201
    assert made.body["secret"].startswith("whsec_")
    path = f"/webhooks/{made.body['id']}"
    shown = await admin.get(path)
    assert "secret" not in shown.body
    change = {"enabled": False, "version": shown.body["version"]}
    assert (await admin.call("PATCH", path, change)).body["enabled"] is False
    assert (await admin.call("DELETE", path)).status == 204
    assert (await admin.get(path)).status == 404


@pytest.mark.parametrize("host", ["169.254.169.254", "127。0。0。1", "①②⑦.0.0.1", "0x7f.1"])
async def test_an_inner_target_is_refused_when_it_is_set_up(world: World, host: str) -> None:
    admin = await world.person("administrator")
    made = await _make(admin, f"https://{host}/latest")
    assert (made.status, made.body["field"], made.body["rule"]) == (422, "url", "target")


@pytest.mark.parametrize("role", ["viewer", "deployer", "editor"])
async def test_only_administrators_set_webhooks_up(world: World, role: str) -> None:
    who = await world.person(role)
    assert (await _make(who, "https://hooks.example/x")).status == 403
    assert (await who.get("/webhooks")).status == 403


async def _make(who: Person, url: str) -> Any:
    return await who.call("POST", "/webhooks", {"name": "chat", "url": url, "types": ["drift"]})


async def _until(world: World, wanted: list[tuple[str, int]]) -> None:
    async def reached() -> bool:
        return await states(world) == wanted

    await eventually(reached)


async def _until_waiting(world: World, seconds: float) -> None:
    """The try is over, and the next one is so many seconds away."""

    async def reached() -> bool:
        async with world.engine.connect() as connection:
            next_at = await connection.scalar(select(deliveries.c.next_at))
        return next_at == world.clock() + timedelta(seconds=seconds)

    await eventually(reached)
