"""Revocation cuts the live link, on whichever replica it is ordered. The figure is printed."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator

import aiohttp
import pytest

from bus.link import Fenced
from service.gateway.link_state import POLICY
from service.store.tables import agents, audit
from tests.service.fake_agent import (
    AgentKeyPair,
    FakeOutbox,
    HandshakeRefusedError,
    application,
    connect,
    enrol,
    open_session,
)
from tests.service.service_fixture import RunningService, open_service, settings


@pytest.fixture
async def second(
    database_url: str, running_service: RunningService
) -> AsyncIterator[RunningService]:
    """Another replica on the same database."""
    async with open_service(settings(database_url)) as service:
        yield RunningService(service)


@pytest.mark.parametrize("elsewhere", [False, True], ids=["same replica", "other replica"])
async def test_revocation_cuts_the_live_link(
    running_service: RunningService,
    second: RunningService,
    elsewhere: bool,  # noqa: FBT001  a table
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    (agent,) = await running_service.rows(agents)
    session, unused = await open_session(identity), await running_service.token(agent.id)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop"))])
        ordered = time.monotonic()
        status, _ = await (second if elsewhere else running_service).call(
            "POST", f"/agents/{agent.id}/revoke"
        )
        fenced = await link.until(Fenced)
        with pytest.raises(ConnectionError, match=f"^{POLICY} the agent was revoked"):
            await link.receive()
        took = time.monotonic() - ordered
    print(f"revocation, order to closed socket: {took * 1000:.0f} ms")
    assert (status, fenced.reason, fenced.retry_after) == (200, "the agent was revoked", 0.0)
    with pytest.raises(HandshakeRefusedError) as refused:
        await open_session(identity)
    assert refused.value.rule == "revoked"
    with pytest.raises(aiohttp.WSServerHandshakeError):
        async with connect(identity, session):
            pass
    with pytest.raises(HandshakeRefusedError):
        await enrol(running_service.service.url, unused, AgentKeyPair())
    again = await enrol(
        running_service.service.url, await running_service.token(agent.id), AgentKeyPair()
    )
    async with connect(again) as link:
        await link.hello(again, outbox.epoch)
    assert "agent.revoked" in [row.action for row in await running_service.rows(audit)]
