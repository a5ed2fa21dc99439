"""The benchmark of sources in its smallest size: it cannot rot. Nothing here is a time."""

from pathlib import Path

import pytest

from benchmarks.pushed_repositories import measure_repositories
from benchmarks.source_kinds import MeasuredSource
from benchmarks.sources import sources
from benchmarks.ssh_pushes import measure_pushes

pytestmark = [pytest.mark.timeout(300), pytest.mark.usefixtures("own_servers")]


async def test_two_sources_are_rendered_where_something_is_new_and_nowhere_else(
    sandbox_binary: Path, registry_binary: Path
) -> None:
    figures = await sources(sandbox_binary, registry_binary, MeasuredSource.TWO, 2)
    found = {one.name: one.value for one in figures}
    assert found["first: renders"] >= 2
    assert found["first: sent by the hosts"] > 0
    assert found["released: renders"] >= 2
    assert found["looked at in vain: fetches"] >= 2
    assert found["looked at in vain: renders"] == 0


async def test_each_of_the_repositories_that_are_pushed_to_is_rendered(
    sandbox_binary: Path,
) -> None:
    figures = await measure_repositories(sandbox_binary, 2)
    assert {one.name: one.value for one in figures}["renders"] >= 2


async def test_pushes_by_ssh_are_compared_with_those_by_https(sandbox_binary: Path) -> None:
    figures = {one.name: one for one in await measure_pushes(sandbox_binary, 1)}
    pushed = figures["git push done -> object changed, p50"]
    assert pushed.floor
    assert pushed.aim == 1.2
