"""Who opens a link is counted by address before the database is asked for anything."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest
from aiohttp import web

from bus.http.server import serving
from service.gateway.refusals import LinkRequestRefusedError, RateLimiter
from service.wiring import gateway_of
from tests.service.counted_statements import Statements
from tests.service.fake_agent import connect, open_session
from tests.service.service_fixture import RunningService


@asynccontextmanager
async def gateway(running_service: RunningService, rate_limiter: RateLimiter) -> AsyncIterator[str]:
    app = web.Application()
    opened = replace(gateway_of(running_service.service.dependencies), rate_limiter=rate_limiter)
    app.router.add_get("/api/v1/link", opened.connect)
    async with serving(app, "127.0.0.1", 0) as port:
        yield f"http://127.0.0.1:{port}"


async def test_a_used_token_is_not_looked_up_over_the_rate(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    session = await open_session(identity)
    async with connect(identity, session):
        pass
    headers = {"Authorization": f"Bearer {session.token}"}
    async with (
        gateway(running_service, RateLimiter(per_second=0.0, burst=2.0)) as url,
        aiohttp.ClientSession(headers=headers) as http,
    ):
        statuses = []
        looked_up = Statements(
            running_service.service.dependencies.engine, "accounts.name AS account"
        )
        for _ in range(2):
            async with http.get(f"{url}/api/v1/link") as answer:
                statuses.append(answer.status)
        assert looked_up.count == 2
        asked = Statements(running_service.service.dependencies.engine, "accounts.name AS account")
        async with http.get(f"{url}/api/v1/link") as answer:
            statuses.append(answer.status)

    assert (statuses, asked.count) == ([401, 401, 429], 0)


async def test_an_authenticated_request_counts_for_its_principal_and_not_its_address(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    async with gateway(running_service, RateLimiter(per_second=0.0, burst=1.0)) as url:
        for _ in range(3):
            session = await open_session(identity)
            async with connect(replace(identity, url=url), session):
                pass


def test_addresses_of_one_ipv6_network_share_a_bucket() -> None:
    rate_limiter = RateLimiter(per_second=0.0, burst=1.0)
    rate_limiter.admit("2001:db8::1", 0.0)
    with pytest.raises(LinkRequestRefusedError):
        rate_limiter.admit("2001:db8::2", 0.0)
