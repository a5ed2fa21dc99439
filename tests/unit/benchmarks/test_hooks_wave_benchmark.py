"""The benchmark of hooks and waves with three applications: it cannot rot."""

from pathlib import Path

import pytest

from benchmarks.hooks_wave import hooks_wave


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("own_servers")
async def test_each_application_is_rendered_once_and_has_run(sandbox_binary: Path) -> None:
    found = {one.name: one.value for one in await hooks_wave(sandbox_binary, 3)}
    assert found["renders"] == 3
