from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.service.api.world import World, open_world
from tests.service.live.world import Replica, replica


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    """People and things; the subscribers call replicas of their own."""
    async with open_world(database_url) as opened:
        yield opened


@pytest.fixture
async def one(database_url: str, world: World) -> AsyncIterator[Replica]:
    async with replica(database_url) as opened:
        yield opened


@pytest.fixture
async def other(database_url: str, world: World) -> AsyncIterator[Replica]:
    async with replica(database_url) as opened:
        yield opened
