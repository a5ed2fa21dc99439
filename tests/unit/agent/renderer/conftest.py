from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.renderer.renderer import SandboxRenderer
from sandbox.client import Sandbox, SandboxLimits


@pytest.fixture
async def sandbox(sandbox_binary: Path) -> AsyncIterator[Sandbox]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as pool:
        yield pool


@pytest.fixture
def renderer(sandbox: Sandbox) -> SandboxRenderer:
    return SandboxRenderer(sandbox)
