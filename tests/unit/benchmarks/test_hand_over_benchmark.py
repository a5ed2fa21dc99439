"""The benchmark of a hand-over with a few applications: it cannot rot, and every shard is found."""

import signal
from pathlib import Path

import pytest

from benchmarks.hand_over import hand_over


@pytest.mark.timeout(300)
@pytest.mark.usefixtures("own_servers")
async def test_the_shards_of_a_killed_replica_act_again(sandbox_binary: Path) -> None:
    found = {one.name: one.value for one in await hand_over(sandbox_binary, 6, signal.SIGKILL)}
    assert found["shards lost"] == 32
    assert found["shards lost that have Applications"] <= 6
