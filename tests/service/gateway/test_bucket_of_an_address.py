"""Who opens a link is counted by address before the database is asked for anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest
from aiohttp import web

from bus.http.server import serving
from service.gateway.limits import Doorman
from service.gateway.problems import LinkRefusedError
from service.gateway.routes import gateway_of
from tests.service.client import connect, open_session
from tests.service.statements import Statements
from tests.service.world import World


@asynccontextmanager
async def gateway(world: World, doorman: Doorman) -> AsyncIterator[str]:
    app = web.Application()
    opened = replace(gateway_of(world.service.parts), doorman=doorman)
    app.router.add_get("/api/v1/link", opened.connect)
    async with serving(app, "127.0.0.1", 0) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.flow
async def test_a_used_token_is_not_looked_up_over_the_rate(world: World) -> None:
    identity = await world.enrolled()
    session = await open_session(identity)
    async with connect(identity, session):
        pass
    headers = {"Authorization": f"Bearer {session.token}"}
    async with (
        gateway(world, Doorman(per_second=0.0, burst=2.0)) as url,
        aiohttp.ClientSession(headers=headers) as http,
    ):
        said = []
        looked_up = Statements(world.service.parts.engine, "accounts.name AS account")
        for _ in range(2):
            async with http.get(f"{url}/api/v1/link") as answer:
                said.append(answer.status)
        assert looked_up.count == 2
        asked = Statements(world.service.parts.engine, "accounts.name AS account")
        async with http.get(f"{url}/api/v1/link") as answer:
            said.append(answer.status)

    assert (said, asked.count) == ([401, 401, 429], 0)


@pytest.mark.flow
async def test_who_proves_itself_takes_nothing_of_its_address(world: World) -> None:
    identity = await world.enrolled()
    async with gateway(world, Doorman(per_second=0.0, burst=1.0)) as url:
        for _ in range(3):
            session = await open_session(identity)
            async with connect(replace(identity, url=url), session):
                pass


def test_addresses_of_one_ipv6_network_share_a_bucket() -> None:
    doorman = Doorman(per_second=0.0, burst=1.0)
    doorman.admit("2001:db8::1", 0.0)
    with pytest.raises(LinkRefusedError):
        doorman.admit("2001:db8::2", 0.0)
