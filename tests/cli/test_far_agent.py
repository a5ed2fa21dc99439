"""`gitops agent get`: what an on-call person asks of one agent, against a real service."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from service.store import tables
from tests.cli.far_world import FarWorld, answering

pytestmark = pytest.mark.flow


async def told(far: FarWorld, **columns: Any) -> None:
    async with far.world.service.parts.engine.begin() as connection:
        await connection.execute(update(tables.agents).values(**columns))


async def test_one_agent_says_what_it_stands_on_and_what_may_be_done_there(far: FarWorld) -> None:
    await far.log_in("viewer")
    part = {"name": "nats", "status": "Degraded", "message": "no leader", "version": "2.11"}
    limits = {"kinds": ["*"], "namespaces": ["shop-*"], "maxPerMinute": 100, "readOnly": True}
    async with answering(far.world):
        await told(far, components=[part], allowed=limits, clock_skew_ms=3_600_000)
        ran = await far.run("agent", "get", "prod")
        plain = await far.run("agent", "get", "prod", "--json")
    assert ran.code == 0, ran.err
    assert "● connected" in ran.out
    assert "◆ Degraded nats 2.11 no leader" in ran.out
    assert "only look; namespaces: shop-*; 100 changes a minute" in ran.out
    assert "3600 s ahead of the service's" in ran.out
    assert plain.answers[0]["allowed"] == limits


async def test_what_waits_for_a_person_is_said_with_its_command(far: FarWorld) -> None:
    await far.log_in()
    await far.run("agent", "create", "edge")
    ran = await far.run("agent", "get", "edge")
    nothing = await far.run("agent", "get", "edges")
    assert "never connected: gitops agent manifest edge" in ran.out
    assert (nothing.code, nothing.out) == (2, "")
    assert (
        "there is no agent edges, or you have no permission to see it. See: gitops agent list"
        in nothing.err
    )


async def test_what_one_agent_says_of_itself_does_not_hide_the_others(far: FarWorld) -> None:
    await far.log_in("viewer")
    async with answering(far.world):
        await told(far, components=[{"name": 7}], allowed={"kinds": "all"})
        listed = await far.run("agent", "list")
        one = await far.run("agent", "get", "prod")
    assert listed.code == 0, listed.err
    assert "prod" in listed.out
    assert (one.code, "versions differ" in one.err) == (3, True)
