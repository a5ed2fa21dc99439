"""`gitops agent get`: what an on-call person asks of one agent, against a real service."""

from __future__ import annotations

from typing import Any

from sqlalchemy import update

from service.store import tables
from tests.unit.cli.service_fixture import ServiceFixture, answering


async def report_columns(service: ServiceFixture, **columns: Any) -> None:
    async with service.running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(update(tables.agents).values(**columns))


async def test_one_agent_says_what_it_stands_on_and_what_may_be_done_there(
    service: ServiceFixture,
) -> None:
    await service.log_in("viewer")
    part = {"name": "nats", "status": "Degraded", "message": "no leader", "version": "2.11"}
    limits = {"kinds": ["*"], "namespaces": ["shop-*"], "maxPerMinute": 100, "readOnly": True}
    async with answering(service.running_service):
        await report_columns(service, components=[part], allowed=limits, clock_skew_ms=3_600_000)
        ran = await service.run("agent", "get", "prod")
        plain = await service.run("agent", "get", "prod", "--json")
    assert ran.code == 0, ran.err
    assert "● connected" in ran.out
    assert "◆ Degraded nats 2.11 no leader" in ran.out
    assert "read only; namespaces: shop-*; 100 changes a minute" in ran.out
    assert "3600 s ahead of the service's" in ran.out
    assert plain.answers[0]["allowed"] == limits


async def test_what_waits_for_a_person_is_said_with_its_command(service: ServiceFixture) -> None:
    await service.log_in()
    await service.run("agent", "create", "edge")
    ran = await service.run("agent", "get", "edge")
    nothing = await service.run("agent", "get", "edges")
    assert "never connected: gitops agent manifest edge" in ran.out
    assert (nothing.code, nothing.out) == (2, "")
    assert (
        "there is no agent edges, or you have no permission to see it. See: gitops agent list"
        in nothing.err
    )


async def test_what_one_agent_says_of_itself_does_not_hide_the_others(
    service: ServiceFixture,
) -> None:
    await service.log_in("viewer")
    async with answering(service.running_service):
        await report_columns(service, components=[{"name": 7}], allowed={"kinds": "all"})
        listed = await service.run("agent", "list")
        one = await service.run("agent", "get", "prod")
    assert listed.code == 0, listed.err
    assert "prod" in listed.out
    assert one.code == 0, one.err
    assert "its policy cannot be read" in one.out
