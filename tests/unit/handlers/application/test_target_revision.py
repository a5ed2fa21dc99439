"""A tag prefix keeps ranges and versions to the tags of one component."""

from __future__ import annotations

import pytest

from handlers.application.source_address import SourceAddress
from handlers.application.spec import Source
from handlers.application.target_revision import (
    asked_revision,
    prefix_and_range,
    tag_prefix_problem,
)

COMMIT = "1234567890" * 4


def source(target: str, prefix: str = "web-", url: str = "https://git.example/shop") -> Source:
    return Source(repo_url=url, target_revision=target, tag_prefix=prefix)


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("^1.2", "web-:^1.2"),
        ("1.x", "web-:1.x"),
        ("1.2.3", "web-1.2.3"),
        ("v1", "web-v1"),
        ("main", "main"),
        ("", ""),
        ("HEAD", "HEAD"),
        (COMMIT, COMMIT),
    ],
)
def test_a_prefix_is_of_ranges_and_versions_and_of_nothing_else(target: str, asked: str) -> None:
    assert asked_revision(source(target)) == asked
    assert asked_revision(source(target, prefix="")) == target


def test_the_revision_that_an_operation_names_is_read_with_the_prefix() -> None:
    assert asked_revision(source("main"), "^2") == "web-:^2"
    assert asked_revision(source("^1.2"), COMMIT) == COMMIT


def test_charts_and_artifacts_have_no_prefix() -> None:
    artifact = source("^1.2", url="oci://registry.example/web")
    assert SourceAddress.of(artifact).kind == "oci"
    assert asked_revision(artifact) == "^1.2"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("web-:^1.2", ("web-", "^1.2")),
        ("^1.2", ("", "^1.2")),
        ("web-1.2.3", ("", "web-1.2.3")),
        ("main:side", ("", "main:side")),
    ],
)
def test_a_range_is_divided_from_its_prefix(target: str, expected: tuple[str, str]) -> None:
    assert prefix_and_range(target) == expected


@pytest.mark.parametrize("prefix", ["a b", "a:", "-a", "a..", "/a", "a\n", "a*", "x" * 201])
def test_a_prefix_with_which_no_tag_begins_is_refused(prefix: str) -> None:
    assert tag_prefix_problem(prefix)


@pytest.mark.parametrize("prefix", ["", "web-", "team/web@", "v", "web/v"])
def test_a_prefix_of_tags_is_none_to_refuse(prefix: str) -> None:
    assert tag_prefix_problem(prefix) == ""
