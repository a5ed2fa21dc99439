"""The benchmark of replicas with three applications: it cannot rot, and each is synced by one."""

from pathlib import Path

import pytest

from benchmarks.replicas import replicas


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("own_servers")
async def test_two_replicas_do_every_operation_once(sandbox_binary: Path) -> None:
    found = {one.name: one.value for one in await replicas(sandbox_binary, 3, 2, idle_seconds=0.1)}
    assert found["operations of all"] == 6
    assert found["operations of a replica, least"] + found["operations of a replica, most"] == 6
