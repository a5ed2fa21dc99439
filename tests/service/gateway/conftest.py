from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.service.service_fixture import RunningService, open_service, settings


@pytest.fixture
async def running_service(database_url: str) -> AsyncIterator[RunningService]:
    async with open_service(settings(database_url)) as service:
        yield RunningService(service)
