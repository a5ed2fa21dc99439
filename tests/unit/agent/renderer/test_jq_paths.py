"""Expressions of ignore rules in the real sandbox: places, problems, and hostile ones."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest

from agent.renderer.jq_paths import SandboxJqPaths
from sandbox.client import Sandbox, SandboxLimits

ENDLESS = "def f: f; f"
BOMB = "[range(1e12)] | .[0]"
WEB = msgspec.json.encode({"spec": {"replicas": 3, "list": [{"name": "a"}, {"name": "b"}]}})
LIMITS = SandboxLimits(workers=1, memory_bytes=256 << 20)


@pytest.fixture
async def jq(sandbox_binary: Path) -> AsyncIterator[SandboxJqPaths]:
    async with Sandbox(sandbox_binary, LIMITS) as pool:
        yield SandboxJqPaths(pool)


async def test_each_expression_has_its_places_in_each_document(jq: SandboxJqPaths) -> None:
    other = msgspec.json.encode({"spec": {"list": [{"name": "b"}]}})
    expressions = (".spec.replicas", '.spec.list[] | select(.name == "b")')
    found = await jq.paths(expressions, (WEB, other), project="shop")
    assert [[one.paths for one in results] for results in found] == [
        [(("spec", "replicas"),), (("spec", "list", 1),)],
        [(), (("spec", "list", 0),)],
    ]


async def test_an_expression_that_does_not_compile_says_why(jq: SandboxJqPaths) -> None:
    good, bad = await jq.problems((".spec", ".spec["), project="shop")
    assert good == ""
    assert "unexpected" in bad


async def test_an_expression_that_fails_on_a_document_has_its_reason_there(
    jq: SandboxJqPaths,
) -> None:
    ((found,),) = await jq.paths((".spec.replicas.x",), (WEB,), project="shop")
    assert found.paths == ()
    assert "replicas" in found.problem or "number" in found.problem
    assert not found.overran


@pytest.mark.parametrize("hostile", [ENDLESS, BOMB], ids=["endless", "memory"])
async def test_a_hostile_expression_fails_alone_and_is_not_tried_again_at_once(
    jq: SandboxJqPaths, hostile: str
) -> None:
    expressions = (hostile, ".spec.replicas")
    ((bad, good),) = await jq.paths(expressions, (WEB,), project="shop")
    assert bad.overran
    assert bad.problem
    assert good.paths == (("spec", "replicas"),)

    other = msgspec.json.encode({"spec": {"replicas": 4}})
    ((known, good),) = await jq.paths(expressions, (other,), project="shop")
    assert known.problem == bad.problem
    assert good.paths == (("spec", "replicas"),)
