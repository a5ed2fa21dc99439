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

from bus.spans import Spans
from service.live.webhook_deliveries import DELIVERY, SIGNATURE, WAITS, signature
from service.live.webhook_dispatcher import WebhookDispatcher
from service.outgoing import AddressPolicy
from service.store.changes import FeedChange
from service.store.tables import deliveries
from tests.service.api.api_fixture import ApiFixture, ApiPerson
from tests.service.live.replica_fixture import changed, note_changes
from tests.spans import KeptSpans
from tests.support import eventually

LOOPBACK = AddressPolicy(allowed=(ip_network("127.0.0.0/8"),), plain_http=True)


@dataclass
class OutgoingReceiver:
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
    made: list[tuple[OutgoingReceiver, TestServer]] = []

    async def make(*, holds: bool = False) -> OutgoingReceiver:
        receiver = OutgoingReceiver()
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
async def couriers(
    api: ApiFixture, count: int = 1, spans: Spans | None = None
) -> AsyncIterator[None]:
    """As replicas run them; waits are by the fixture's clock."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                WebhookDispatcher(
                    engine=api.engine,
                    signals=api.dependencies.signals,
                    clock=api.clock,
                    policy=LOOPBACK,
                    keys=api.dependencies.keys,
                    spans=spans or Spans(),
                    pause=0.05,
                ).run()
            )
            for _ in range(count)
        ]
        yield
        for task in tasks:
            task.cancel()


async def hook(api: ApiFixture, url: str, **more: Any) -> str:
    values = {"account_id": api.account, "name": "n", "url": url, "secret": "whsec_x", **more}
    return await api.put("webhooks", **values)


async def states(api: ApiFixture) -> list[tuple[str, int]]:
    query = select(deliveries.c.state, deliveries.c.attempts).order_by(deliveries.c.change_id)
    async with api.engine.connect() as connection:
        return [(it.state, it.attempts) for it in await connection.execute(query)]


async def test_deliveries_are_signed_and_filtered(api: ApiFixture, receivers: Any) -> None:
    receiver = await receivers()
    await hook(api, receiver.url, types=["drift"])
    drift = FeedChange(type="drift.began", subject="argocd/a", project="default")
    async with couriers(api):
        await note_changes(api, changed("argocd/a"), drift)
        await eventually(lambda: len(receiver.got) == 1)
    headers, body = receiver.got[0]
    time, _, digest = headers[SIGNATURE].partition(",v1=")
    assert digest == signature("whsec_x", body, int(time.removeprefix("t=")))
    assert b'"drift.began"' in body


async def test_each_try_has_a_span_without_the_address(api: ApiFixture, receivers: Any) -> None:
    receiver, kept = await receivers(), KeptSpans()
    receiver.status = 500
    id_ = await hook(api, f"{receiver.url}/secret-path", types=["application"])
    async with couriers(api, spans=Spans(sinks=(kept,))):
        await note_changes(api, changed("argocd/a"))
        await eventually(lambda: kept.spans)
    (span,) = kept.spans
    assert (span.name, span.attributes["gitops.webhook"]) == ("webhook delivery", id_)
    assert span.error == "500: the receiver did not accept it"
    assert "secret-path" not in str(span)


async def test_each_change_is_delivered_once_by_two_replicas(
    api: ApiFixture, receivers: Any
) -> None:
    receiver = await receivers()
    await hook(api, receiver.url)
    async with couriers(api, 2):
        await note_changes(api, *(changed(f"argocd/{number}") for number in range(40)))
        await _until(api, [("delivered", 1)] * 40)
    assert len({headers[DELIVERY] for headers, _ in receiver.got}) == len(receiver.got) == 40


async def test_a_slow_receiver_delays_nobody(api: ApiFixture, receivers: Any) -> None:
    slow, quick = await receivers(holds=True), await receivers()
    await hook(api, slow.url)
    await hook(api, quick.url, name="quick")
    async with couriers(api):
        await note_changes(api, *(changed(f"argocd/{number}") for number in range(20)))
        await eventually(lambda: len(quick.got) == 20)
        await eventually(lambda: len(slow.got) == 1)
        slow.hold.set()


async def test_a_failed_delivery_is_tried_again_until_it_is_dead_and_by_hand(
    api: ApiFixture, receivers: Any
) -> None:
    receiver = await receivers()
    receiver.status = 500
    id_ = await hook(api, receiver.url, types=["application"])
    admin = await api.person("administrator")
    async with couriers(api):
        await note_changes(api, changed("argocd/a"))
        for attempt in range(1, len(WAITS) + 1):
            await _until_waiting(api, WAITS[attempt - 1])
            api.clock.on(seconds=WAITS[attempt - 1])
        await _until(api, [("dead", len(WAITS) + 1)])
        dead = await admin.get(f"/webhooks/{id_}/deliveries?state=dead")
        (item,) = dead.body["items"]
        assert item["answer"] == "500: the receiver did not accept it"
        receiver.status = 204
        path = f"/webhooks/{id_}/deliveries/{item['id']}/retry"
        assert (await admin.call("POST", path)).status == 200
        await _until(api, [("delivered", 1)])


async def test_a_webhook_is_made_shown_changed_and_removed(api: ApiFixture) -> None:
    admin = await api.person("administrator")
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
async def test_an_inner_target_is_refused_when_it_is_set_up(api: ApiFixture, host: str) -> None:
    admin = await api.person("administrator")
    made = await _make(admin, f"https://{host}/latest")
    assert (made.status, made.body["field"], made.body["rule"]) == (422, "url", "target")


@pytest.mark.parametrize("role", ["viewer", "deployer", "editor"])
async def test_only_administrators_set_webhooks_up(api: ApiFixture, role: str) -> None:
    who = await api.person(role)
    assert (await _make(who, "https://hooks.example/x")).status == 403
    assert (await who.get("/webhooks")).status == 403


async def _make(who: ApiPerson, url: str) -> Any:
    return await who.call("POST", "/webhooks", {"name": "chat", "url": url, "types": ["drift"]})


async def _until(api: ApiFixture, expected: list[tuple[str, int]]) -> None:
    async def reached() -> bool:
        return await states(api) == expected

    await eventually(reached)


async def _until_waiting(api: ApiFixture, seconds: float) -> None:
    """The try is over, and the next one is so many seconds away."""

    async def reached() -> bool:
        async with api.engine.connect() as connection:
            next_at = await connection.scalar(select(deliveries.c.next_at))
        return next_at == api.clock() + timedelta(seconds=seconds)

    await eventually(reached)
