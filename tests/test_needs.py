"""Markers and groups of tests follow from their fixtures."""

from __future__ import annotations

import pytest

from tests.needs import FIXTURES, MARKERS, group_of, longest_first, needs_of, seconds_of
from tests.paths import REPOSITORY

TEST = "tests/flows/test_sync.py::test_a_push"


@pytest.mark.parametrize(
    ("fixtures", "needs"),
    [
        (["tmp_path"], set()),
        (["database_url", "postgres_url"], {"needs_postgres"}),
        (["own_nats"], {"needs_nats"}),
        (["nats_url", "control_plane_binaries"], {"needs_nats", "needs_cluster"}),
        (["own_servers"], {"needs_servers"}),
    ],
    ids=["nothing", "database", "own NATS", "two", "by its own hand"],
)
def test_needs_follow_from_fixtures(fixtures: list[str], needs: set[str]) -> None:
    assert needs_of(fixtures) == needs


def test_every_need_is_a_marker_that_is_described() -> None:
    described = {marker.partition(":")[0] for marker in MARKERS}
    assert described == {*FIXTURES, "needs_nothing"}


def test_every_fixture_with_a_need_exists() -> None:
    """A fixture that is renamed would lose its need without a word."""
    sources = "".join(file.read_text() for file in (REPOSITORY / "tests").rglob("*.py"))
    named = {name for those in FIXTURES.values() for name in those}
    assert {name for name in named if f"def {name}(" not in sources} == set()


@pytest.mark.parametrize(
    ("needs", "scopes", "group"),
    [
        ({"needs_postgres"}, {"function"}, "tests/flows/test_sync.py"),
        ({"needs_cluster"}, {"function", "session"}, TEST),
        ({"needs_cluster"}, {"function", "module"}, "tests/flows/test_sync.py"),
        ({"needs_cluster", "needs_whole_cluster"}, {"function"}, "needs_whole_cluster"),
        ({"needs_cluster", "needs_images"}, {"module"}, "needs_images"),
    ],
    ids=["its file", "alone", "fixture of its file", "one cluster", "dear"],
)
def test_a_group_is_what_must_run_in_one_process(
    needs: set[str], scopes: set[str], group: str
) -> None:
    assert group_of(TEST, needs, scopes) == group


def test_the_longest_group_comes_first_and_keeps_its_order() -> None:
    assert longest_first([("quick", 3.0), ("slow", 2.0), ("slow", 2.0)]) == [1, 2, 0]


def test_a_test_with_a_long_timeout_of_its_own_counts_as_long() -> None:
    assert seconds_of({"needs_cluster"}) < seconds_of({"needs_cluster"}, timeout=300)
    assert seconds_of({"needs_images"}, timeout=10) == seconds_of({"needs_images"})
