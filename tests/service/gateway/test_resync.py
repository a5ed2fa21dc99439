"""Both sides end with equal roots; what is missing is not deleted; an empty one wipes nothing."""

from __future__ import annotations

import pytest

from bus.link import Beat, LinkItem, WantBodies
from service.gateway import epochs as believing
from service.lifecycle import now
from service.store.tables import agents, applications, epochs, facts, objects
from tests.service.fake_agent import AgentIdentity, FakeOutbox, application, connect, resync
from tests.service.service_fixture import RunningService

MANY = 40


def filled(count: int = MANY) -> tuple[FakeOutbox, list[LinkItem]]:
    outbox = FakeOutbox()
    return outbox, [outbox.state(application(f"app-{n}")) for n in range(count)]


async def report_applications(
    running_service: RunningService, identity: AgentIdentity, count: int = MANY
) -> FakeOutbox:
    """An agent has told this many applications and is gone again."""
    outbox, items = filled(count)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put(items)
        await resync(link, outbox)
    assert await in_step(running_service)
    return outbox


async def in_step(running_service: RunningService) -> bool | None:
    (agent,) = await running_service.rows(agents)
    return None if agent.roots_in_step is None else bool(agent.roots_in_step)


async def names(running_service: RunningService) -> set[str]:
    return {row.name for row in await running_service.rows(applications)}


async def test_equal_roots_cost_nothing(running_service: RunningService) -> None:
    outbox, items = filled()
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put(items)
        await link.send(outbox.roots())
        await link.send(Beat(sent_at=1.0))
        assert isinstance(await link.receive(), Beat)
    assert await in_step(running_service)


async def test_only_objects_that_differ_are_sent_again(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    outbox = await report_applications(running_service, identity)
    outbox.state(application("app-3", health="Degraded"))
    outbox.state(application("new"))
    outbox.sequence -= 2
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert await resync(link, outbox) == 2
    assert await in_step(running_service)
    health = {row.name: row.health for row in await running_service.rows(applications)}
    assert (health["app-3"], health["new"]) == ("Degraded", "Healthy")


async def test_a_lost_deletion_is_found_and_confirmed(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    outbox = await report_applications(running_service, identity)
    del outbox.objects["Application"]["argocd/app-3"]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await resync(link, outbox)
    assert await in_step(running_service)
    assert "app-3" not in await names(running_service)


async def test_a_recreated_object_is_another_one(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    outbox = await report_applications(running_service, identity)
    _, body = outbox.objects["Application"]["argocd/app-3"]
    outbox.objects["Application"]["argocd/app-3"] = ("another-uid", body)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert await resync(link, outbox) == 1
    assert await in_step(running_service)


async def test_a_tombstone_removes(running_service: RunningService) -> None:
    outbox, items = filled(2)
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([*items, outbox.gone("Application", "argocd/app-1")])
    assert await names(running_service) == {"app-0"}


async def test_much_that_is_missing_is_doubted_until_a_second_look(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    outbox = await report_applications(running_service, identity)
    outbox.objects["Application"].clear()
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert await resync(link, outbox) == 0
        assert len(await names(running_service)) == MANY
        assert all(row.suspect for row in await running_service.rows(applications))
        assert await resync(link, outbox) == MANY
    assert await names(running_service) == set()


async def test_what_comes_back_is_not_doubted_any_more(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    outbox = await report_applications(running_service, identity)
    kept = dict(outbox.objects["Application"])
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        outbox.objects["Application"].clear()
        await resync(link, outbox)
        outbox.objects["Application"].update(kept)
        await resync(link, outbox)
    assert await in_step(running_service)
    assert not any(row.suspect for row in await running_service.rows(applications))


async def test_an_empty_cluster_never_wipes(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    await report_applications(running_service, identity)
    empty = FakeOutbox()
    async with connect(identity) as link:
        assert (await link.hello(identity, empty.epoch)).quarantined
        for _ in range(3):
            await resync(link, empty)
    assert len(await names(running_service)) == MANY
    reasons = {row.state: row.reason for row in await running_service.rows(epochs)}
    assert "0 of 40" in reasons["quarantined"]


async def test_a_new_epoch_of_the_same_cluster_is_believed(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    await report_applications(running_service, identity)
    outbox, items = filled(MANY // 2 + 5)
    fact = outbox.fact("fact.app.compared.v1", "argocd/app-1", {})
    fresh = outbox.state(application("fresh"))
    async with connect(identity) as link:
        assert (await link.hello(identity, outbox.epoch)).quarantined
        await link.put([*items, fact, fresh])
        assert "fresh" not in await names(running_service)
        assert await running_service.rows(facts) == []
        await resync(link, outbox)
    assert await names(running_service) == {f"app-{n}" for n in range(MANY // 2 + 5)} | {"fresh"}
    assert [row.event_id for row in await running_service.rows(facts)] == [fact.id]
    assert sorted(row.state for row in await running_service.rows(epochs)) == ["active", "retired"]
    assert {row.epoch for row in await running_service.rows(objects)} == {outbox.epoch}


async def test_the_same_names_in_another_cluster_are_not_believed(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    await report_applications(running_service, identity)
    outbox = FakeOutbox()
    items = [outbox.state(application(f"app-{n}"), uid=f"other-{n}") for n in range(MANY)]
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch, cluster_uid="cluster-2")
        await link.put(items)
        await resync(link, outbox)
    states = {row.epoch: row.state for row in await running_service.rows(epochs)}
    assert states[outbox.epoch] == "quarantined"


async def test_a_person_accepts_a_new_epoch(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    await report_applications(running_service, identity)
    outbox, items = filled(1)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put(items)
        async with running_service.service.dependencies.engine.begin() as connection:
            (agent,) = await running_service.rows(agents)
            assert await believing.accept(connection, agent.id, outbox.epoch, now())
        await link.put([outbox.state(application("later"))])
    assert await names(running_service) == {"app-0", "later"}


async def test_a_rejected_epoch_is_cut_and_does_not_come_back(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    await report_applications(running_service, identity)
    empty = FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, empty.epoch)
        async with running_service.service.dependencies.engine.begin() as connection:
            (agent,) = await running_service.rows(agents)
            assert await believing.reject(connection, agent.id, empty.epoch)
        with pytest.raises(ConnectionError):
            await link.until(WantBodies)
    async with connect(identity) as link:
        with pytest.raises(ConnectionError):
            await link.hello(identity, empty.epoch)
    assert len(await names(running_service)) == MANY


async def test_an_older_outbox_that_comes_back_has_to_be_believed_anew(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    older = await report_applications(running_service, identity)
    newer = FakeOutbox(objects=older.objects)
    async with connect(identity) as link:
        await link.hello(identity, newer.epoch)
        await resync(link, newer)
    async with connect(identity) as link:
        welcome = await link.hello(identity, older.epoch)
        assert (welcome.quarantined, welcome.acked) == (True, 0)
        older.sequence = 0
        await link.put([older.state(application("app-1", health="Degraded"))])
        await resync(link, older)
    states = {row.epoch: row.state for row in await running_service.rows(epochs)}
    assert states == {older.epoch: "active", newer.epoch: "retired"}
    assert len(await names(running_service)) == MANY


async def test_a_shorter_outbox_goes_on_from_its_own_end(running_service: RunningService) -> None:
    identity = await running_service.enrolled()
    outbox = await report_applications(running_service, identity)
    async with connect(identity) as link:
        assert (await link.hello(identity, outbox.epoch, outbox=10)).acked == 10
        outbox.sequence = 10
        item = outbox.state(application("after the restore"))
        assert (await link.put([item])).through == 11
    assert "after the restore" in await names(running_service)
