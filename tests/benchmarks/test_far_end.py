"""The benchmark of the far end promises counts: nothing twice, nothing missing."""

from __future__ import annotations

import pytest

from benchmarks.catch_up import catch_up


@pytest.mark.flow
async def test_after_a_cut_nothing_is_told_twice_and_nothing_is_missing() -> None:
    found = {figure.name: figure.value for figure in await catch_up(2000)}
    assert (found["duplicates"], found["missing"]) == (0, 0)
    assert found["sent again"] > 0
