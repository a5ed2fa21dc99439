from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.service.api.api_fixture import ApiFixture, open_api_fixture


@pytest.fixture
async def api(database_url: str) -> AsyncIterator[ApiFixture]:
    async with open_api_fixture(database_url) as opened:
        yield opened
