"""The benchmark of clusters with two destinations, one of which dies: it cannot rot."""

from pathlib import Path

import pytest

from benchmarks.clusters import clusters


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("own_servers")
async def test_pushes_arrive_while_another_cluster_is_dead(sandbox_binary: Path) -> None:
    figures = await clusters(sandbox_binary, 2, 2, idle_seconds=0.1, pushes=2)
    assert "the same while one cluster is dead, longest of 2" in {one.name for one in figures}
