"""Versions are chosen by the parser that Argo CD uses, in the sandbox."""

import pytest

from agent.renderer.version_choice import MOST_VERSIONS, SandboxVersions
from handlers.ports import RepositoryError
from sandbox.client import Sandbox

TAGS = ("v0.9.0", "0.0.3", "1.2.0", "v1.2.9", "1.11.4", "2.0.0", "2.1.0-rc.1", "latest", "3")


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        ("*", "3"),
        ("*-0", "3"),
        ("1.2.x", "v1.2.9"),
        ("~1.2", "v1.2.9"),
        ("^1.2.0", "1.11.4"),
        ("^0.0", "0.0.3"),
        ("^0", "v0.9.0"),
        (">11", ""),
        (">1", "3"),
        (">1 <3", "2.0.0"),
        (">=2.0.0-0 <3", "2.1.0-rc.1"),
        ("<=1.2", "v1.2.9"),
        ("!=3 >1", "2.0.0"),
        ("1.0 - 1.11.3", "v1.2.9"),
        ("1.2.0 || 0.9.x", "1.2.0"),
        ("12ab34f", None),
        ("1.x/feature", None),
    ],
)
async def test_the_highest_version_of_a_range_is_chosen_as_it_is_written(
    sandbox: Sandbox, constraint: str, expected: str | None
) -> None:
    assert await SandboxVersions(sandbox).highest(constraint, TAGS, project="shop") == expected


async def test_a_hundred_thousand_versions_are_chosen_from(sandbox: Sandbox) -> None:
    tags = [f"1.{minor}.{patch}" for minor in range(100) for patch in range(1000)]

    assert await SandboxVersions(sandbox).highest("<1.50", tags, project="shop") == "1.49.999"


async def test_more_versions_than_the_limit_are_refused_with_their_number(
    sandbox: Sandbox,
) -> None:
    tags = [str(number) for number in range(MOST_VERSIONS + 1)]

    with pytest.raises(RepositoryError, match="200001 versions"):
        await SandboxVersions(sandbox).highest("*", tags, project="shop")
