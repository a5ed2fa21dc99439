"""Items over a real socket into a real database: once each, in order, acknowledged when stored."""

from __future__ import annotations

import pytest

from bus.link import Ack, Items, LinkItem, Missing
from service.store.tables import applications, facts
from tests.service.fake_agent import FakeOutbox, application, connect
from tests.service.service_fixture import RunningService


async def test_items_are_applied_and_acknowledged(running_service: RunningService) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled(environment="dev")
    async with connect(identity) as link:
        welcome = await link.hello(identity, outbox.epoch)
        items = [
            outbox.state(application("shop", health="Degraded")),
            outbox.fact("fact.app.compared.v1", "argocd/shop", {"status": "Synced"}),
        ]
        assert (welcome.acked, (await link.put(items)).through) == (0, 2)
    (row,) = await running_service.rows(applications)
    assert (row.name, row.health, row.environment) == ("shop", "Degraded", "dev")
    assert [it.type for it in await running_service.rows(facts)] == ["fact.app.compared.v1"]


async def test_duplicates_are_acknowledged_and_change_nothing(
    running_service: RunningService,
) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled()
    items = [outbox.fact("fact.app.compared.v1", "argocd/shop", {}) for _ in range(3)]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        acks = [(await link.put(items)).through for _ in range(2)]
    assert acks == [3, 3]
    assert len(await running_service.rows(facts)) == 3


async def test_a_gap_is_asked_for_again(running_service: RunningService) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled()
    items = [outbox.fact("fact.app.compared.v1", "argocd/shop", {}) for _ in range(3)]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.send(Items(items=(items[0], items[2])))
        assert (await link.until(Ack)).through == 1
        assert (await link.until(Missing)).after == 1
        assert (await link.put(items[1:])).through == 3


async def test_a_new_connection_goes_on_where_the_old_one_ended(
    running_service: RunningService,
) -> None:
    outbox, identity = FakeOutbox(), await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop"))])
    async with connect(identity) as link:
        assert (await link.hello(identity, outbox.epoch)).acked == 1


@pytest.mark.parametrize("at_once", [True, False])
async def test_the_end_of_an_operation_belongs_to_what_began_it(
    running_service: RunningService, *, at_once: bool
) -> None:
    """After a hook or a wave the cluster goes on with it, not the push: its end is the push's."""
    identity, outbox = await running_service.enrolled(), FakeOutbox()

    def fact(name: str, operation: str, correlation: str) -> LinkItem:
        body = {"operation": operation, "phase": "Succeeded"}
        return outbox.fact(f"fact.{name}", "argocd/shop", body, correlation)

    items = [
        fact("operation.started.v1", "op-1", "push"),
        fact("resources.applied.v1", "op-1", "hook ended"),
        fact("operation.finished.v1", "op-1", "wave healthy"),
        fact("operation.finished.v1", "op-2", "another"),
    ]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        for some in [items] if at_once else [[item] for item in items]:
            await link.put(some)
    rows = sorted(await running_service.rows(facts), key=lambda row: row.id)
    assert [row.correlation for row in rows] == ["push", "push", "push", "another"]
