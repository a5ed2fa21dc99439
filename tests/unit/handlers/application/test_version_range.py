"""Which target revisions may be a range of versions, and which are pins or plain names."""

import pytest

from handlers.application.version_range import is_pin, may_be_range


@pytest.mark.parametrize("text", ["1.2.3", "v1", "1.2", "v1.2.3-rc.1+build.5", "1234567", "01.2"])
def test_a_version_is_a_pin_and_no_range(text: str) -> None:
    assert is_pin(text)
    assert not may_be_range(text)


@pytest.mark.parametrize(
    "text",
    [
        "*",
        "x",
        "1.x",
        "v1.X",
        "^1.2",
        "~1",
        ">=1 <2",
        "1.0 - 2.0",
        "1 || 2",
        "!=1.x",
        "=1.2",
        "x-rc",
    ],
)
def test_what_begins_as_a_range_is_worth_asking_the_parser(text: str) -> None:
    assert may_be_range(text)


@pytest.mark.parametrize(
    "text", ["", "HEAD", "main", "xylophone", "feature/1.x", "f" * 40, "^" * 300, "release-1.x"]
)
def test_a_plain_name_costs_no_evaluation(text: str) -> None:
    assert not may_be_range(text)
