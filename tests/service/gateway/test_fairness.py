"""One agent does not harm the others; what is lost between replicas is made up for."""

from __future__ import annotations

import asyncio

from sqlalchemy import text, update

from bus.link import Ack, Beat, Fenced, Items, Offer, TaskKind
from service.app import now
from service.gateway import epochs as believing
from service.gateway.tasks import NewTask
from service.store.tables import agents, applications
from tests.service.client import Outbox, application, connect, post
from tests.service.client import RefusedError as Refused
from tests.service.world import World, open_service, settings
from tests.support import eventually


async def test_a_noisy_agent_waits_and_the_others_do_not(database_url: str) -> None:
    async with open_service(settings(database_url, items_per_second=20)) as service:
        world = World(service)
        noisy, quiet = await world.enrolled("noisy"), await world.enrolled("quiet")
        loud, calm = Outbox(), Outbox()
        async with connect(noisy) as flood, connect(quiet) as link:
            await flood.hello(noisy, loud.epoch)
            await link.hello(quiet, calm.epoch)
            for _ in range(3):
                items = tuple(loud.state(application(f"app-{n}")) for n in range(60))
                await flood.send(Items(items=items))
            assert (await link.put([calm.state(application("shop"))])).through == 1
            acks = [await flood.until(Ack) for _ in range(3)]
    assert [ack.through for ack in acks] == [60, 120, 180]


async def test_an_agent_that_does_not_read_delays_nobody(world: World) -> None:
    deaf, good = await world.enrolled("deaf"), await world.enrolled("good")
    outbox, other = Outbox(), Outbox()
    async with connect(deaf) as silent, connect(good) as link:
        await silent.hello(deaf, outbox.epoch)
        await link.hello(good, other.epoch)
        for _ in range(300):
            await silent.send(Items(items=(outbox.fact("f.v1", "s", {}),)))
        for _ in range(5):
            await link.put([other.fact("f.v1", "s", {})])
        assert other.sequence == 5


async def test_agents_that_connect_at_once_are_all_taken_in(world: World) -> None:
    async def one(number: int) -> int:
        identity, outbox = await world.enrolled(f"agent-{number}"), Outbox()
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            return (await link.put([outbox.state(application("shop"))])).through

    async with asyncio.TaskGroup() as group:
        done = [group.create_task(one(n), name=f"agent {n}") for n in range(20)]
    assert [it.result() for it in done] == [1] * 20
    assert len(await world.rows(applications)) == 20


async def test_a_revocation_whose_signal_is_lost_still_ends_the_link(world: World) -> None:
    identity = await world.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        async with world.service.parts.engine.begin() as connection:
            await connection.execute(update(agents).values(state="revoked"))
        await link.send(Beat(sent_at=1.0, echo=1.0))
        assert "revoked" in (await link.until(Fenced)).reason


async def test_a_replica_that_ends_sends_its_agents_on(database_url: str, world: World) -> None:
    identity = await world.enrolled()
    async with open_service(settings(database_url)) as other:
        moved = type(identity)(
            url=other.url,
            account=identity.account,
            agent=identity.agent,
            key_id=identity.key_id,
            keys=identity.keys,
        )
        async with connect(moved) as link:
            await link.hello(moved, "e")
            other.parts.switchboard.leave()
            fenced = await link.until(Fenced)
    assert fenced.retry_after > 0


async def test_what_a_person_accepts_is_offered_its_tasks_at_once(world: World) -> None:
    identity, first, second = await world.enrolled(), Outbox(), Outbox()
    async with connect(identity) as link:
        await link.hello(identity, first.epoch)
        await link.put([first.state(application("shop"))])
    (agent,) = await world.rows(agents)
    parts = world.service.parts
    async with connect(identity) as link:
        assert (await link.hello(identity, second.epoch)).quarantined
        async with parts.engine.begin() as connection:
            new = NewTask(
                account_id=agent.account_id, agent_id=agent.id, kind=TaskKind.SYNC, actor="ann"
            )
            task_id = await parts.tasks.submit(connection, new)
        async with parts.engine.begin() as connection:
            await believing.accept(connection, agent.id, second.epoch, now())
        assert (await link.until(Offer)).task.id == task_id


async def test_a_guesser_is_slowed_down(world: World) -> None:
    """A hundred at a time, as many rounds as the bucket lasts: it refills while we guess."""
    rules: set[str] = set()
    for _ in range(40):
        async with asyncio.TaskGroup() as group:
            guesses = [group.create_task(_guess(world), name=f"guess {n}") for n in range(100)]
        rules |= {it.result() for it in guesses}
        if "rate" in rules:
            break
    assert rules == {"body", "rate"}


async def _guess(world: World) -> str:
    try:
        await post(world.service.url, "enrol", {}, dict)
    except Refused as refused:
        return str(refused.rule)
    return ""


async def test_a_database_that_cuts_everyone_off_is_survived(world: World) -> None:
    identity, outbox = await world.enrolled(), Outbox()
    parts = world.service.parts
    cut = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        async with parts.engine.connect() as connection:
            await connection.execute(cut)
        await eventually(lambda: not parts.signals.listening.is_set(), what="signals are lost")
        await eventually(parts.signals.listening.is_set, what="signals are back")
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.put([outbox.state(application("shop"))])).through == 1
        (agent,) = await world.rows(agents)
        async with parts.engine.begin() as connection:
            new = NewTask(
                account_id=agent.account_id, agent_id=agent.id, kind=TaskKind.SYNC, actor="ann"
            )
            task_id = await parts.tasks.submit(connection, new)
        assert (await link.until(Offer)).task.id == task_id
