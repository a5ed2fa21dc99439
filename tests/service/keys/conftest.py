from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.service.world import World, open_service, settings


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    async with open_service(settings(database_url)) as service:
        yield World(service)
