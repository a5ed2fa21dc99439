"""What an addition costs: no worked example touches more hand-written files than is promised."""

from __future__ import annotations

import pytest

from tests.unit.test_extend import EXAMPLES, is_test, touched

PROMISED = {
    "health-of-a-kind": 2,
    "object-kind": 4,
    "task-kind": 5,
    "webhook-provider": 2,
    "rest-noun": 5,
}
"""Production files by the name of the example; tests and generated documents come on top."""


@pytest.mark.parametrize(("name", "most"), PROMISED.items(), ids=str)
def test_an_addition_costs_no_more_files_than_promised(name: str, most: int) -> None:
    (patch,) = (one for one in EXAMPLES if one.stem == name)
    files = [file for file in touched(patch) if not is_test(file)]
    production = [file for file in files if not file.startswith("tests/")]
    assert len(production) <= most, production
