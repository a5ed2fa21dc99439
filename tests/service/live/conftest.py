from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.service.api.api_fixture import ApiFixture, open_api_fixture
from tests.service.live.replica_fixture import ServiceReplica, replica


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[ApiFixture]:
    """People and things; the subscribers call replicas of their own."""
    async with open_api_fixture(database_url) as opened:
        yield opened


@pytest.fixture
async def one(database_url: str, api: ApiFixture) -> AsyncIterator[ServiceReplica]:
    async with replica(database_url) as opened:
        yield opened


@pytest.fixture
async def other(database_url: str, api: ApiFixture) -> AsyncIterator[ServiceReplica]:
    async with replica(database_url) as opened:
        yield opened
