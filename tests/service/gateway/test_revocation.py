"""Revocation cuts the live link, on whichever replica it is ordered. The figure is printed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from bus.link import Fenced
from service.gateway.link import POLICY
from service.store.tables import agents, audit
from tests.service.client import (
    Keys,
    Outbox,
    RefusedError,
    application,
    connect,
    enrol,
    open_session,
)
from tests.service.world import World, open_service, settings


@pytest.fixture
async def second(database_url: str, world: World) -> AsyncIterator[World]:
    """Another replica on the same database."""
    async with open_service(settings(database_url)) as service:
        yield World(service)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same replica", "other replica"])
async def test_revocation_cuts_the_live_link(
    world: World,
    second: World,
    elsewhere: bool,  # noqa: FBT001  a table
) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    (agent,) = await world.rows(agents)
    session, unused = await open_session(identity), await world.token(agent.id)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop"))])
        ordered = time.monotonic()
        status, _ = await (second if elsewhere else world).call(
            "POST", f"/agents/{agent.id}/revoke"
        )
        told = await link.until(Fenced)
        with pytest.raises(ConnectionError, match=f"^{POLICY} the agent was revoked"):
            await link.receive()
        took = time.monotonic() - ordered
    print(f"revocation, order to closed socket: {took * 1000:.0f} ms")
    assert (status, told.reason, told.retry_after) == (200, "the agent was revoked", 0.0)
    with pytest.raises(RefusedError) as refused:
        await open_session(identity)
    assert refused.value.rule == "revoked"
    with pytest.raises(aiohttp.WSServerHandshakeError):
        async with connect(identity, session):
            pass
    with pytest.raises(RefusedError):
        await enrol(world.service.url, unused, Keys())
    again = await enrol(world.service.url, await world.token(agent.id), Keys())
    async with connect(again) as link:
        await link.hello(again, outbox.epoch)
    assert "agent.revoked" in [row.action for row in await world.rows(audit)]
