"""One agent does not harm the others; what is lost between replicas is made up for."""

from __future__ import annotations

import asyncio

from sqlalchemy import text, update

from bus.link import Ack, Beat, Fenced, Items, Offer, SyncArguments
from service.gateway import epochs as believing
from service.gateway.task_store import QueuedTask
from service.lifecycle import now
from service.store.tables import agents, applications
from tests.service.fake_agent import FakeOutbox, application, connect, post
from tests.service.fake_agent import HandshakeRefusedError as Refused
from tests.service.service_fixture import RunningService, open_service, settings
from tests.support import eventually


async def test_a_noisy_agent_waits_and_the_others_do_not(database_url: str) -> None:
    async with open_service(settings(database_url, items_per_second=20)) as service:
        running_service = RunningService(service)
        noisy, quiet = (
            await running_service.enrolled("noisy"),
            await running_service.enrolled("quiet"),
        )
        loud, calm = FakeOutbox(), FakeOutbox()
        async with connect(noisy) as flood, connect(quiet) as link:
            await flood.hello(noisy, loud.epoch)
            await link.hello(quiet, calm.epoch)
            for _ in range(3):
                items = tuple(loud.state(application(f"app-{n}")) for n in range(60))
                await flood.send(Items(items=items))
            assert (await link.put([calm.state(application("shop"))])).through == 1
            acks = [await flood.until(Ack) for _ in range(3)]
    assert [ack.through for ack in acks] == [60, 120, 180]


async def test_an_agent_that_does_not_read_delays_nobody(running_service: RunningService) -> None:
    deaf, good = await running_service.enrolled("deaf"), await running_service.enrolled("good")
    outbox, other = FakeOutbox(), FakeOutbox()
    async with connect(deaf) as silent, connect(good) as link:
        await silent.hello(deaf, outbox.epoch)
        await link.hello(good, other.epoch)
        for _ in range(300):
            await silent.send(Items(items=(outbox.fact("f.v1", "s", {}),)))
        for _ in range(5):
            await link.put([other.fact("f.v1", "s", {})])
        assert other.sequence == 5


async def test_agents_that_connect_at_once_are_all_taken_in(
    running_service: RunningService,
) -> None:
    async def one(number: int) -> int:
        identity, outbox = await running_service.enrolled(f"agent-{number}"), FakeOutbox()
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            return (await link.put([outbox.state(application("shop"))])).through

    async with asyncio.TaskGroup() as group:
        done = [group.create_task(one(n), name=f"agent {n}") for n in range(20)]
    assert [it.result() for it in done] == [1] * 20
    assert len(await running_service.rows(applications)) == 20


async def test_a_revocation_whose_signal_is_lost_still_ends_the_link(
    running_service: RunningService,
) -> None:
    identity = await running_service.enrolled()
    async with connect(identity) as link:
        await link.hello(identity, "e")
        async with running_service.service.dependencies.engine.begin() as connection:
            await connection.execute(update(agents).values(state="revoked"))
        await link.send(Beat(sent_at=1.0, echo=1.0))
        assert "revoked" in (await link.until(Fenced)).reason


async def test_a_replica_that_ends_sends_its_agents_on(
    database_url: str, running_service: RunningService
) -> None:
    identity = await running_service.enrolled()
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
            other.dependencies.link_registry.leave()
            fenced = await link.until(Fenced)
    assert fenced.retry_after > 0


async def test_what_a_person_accepts_is_offered_its_tasks_at_once(
    running_service: RunningService,
) -> None:
    identity, first, second = await running_service.enrolled(), FakeOutbox(), FakeOutbox()
    async with connect(identity) as link:
        await link.hello(identity, first.epoch)
        await link.put([first.state(application("shop"))])
    (agent,) = await running_service.rows(agents)
    dependencies = running_service.service.dependencies
    async with connect(identity) as link:
        assert (await link.hello(identity, second.epoch)).quarantined
        async with dependencies.engine.begin() as connection:
            new = QueuedTask(
                account_id=agent.account_id,
                agent_id=agent.id,
                arguments=SyncArguments(),
                actor="ann",
            )
            task_id = await dependencies.tasks.submit(connection, new)
        async with dependencies.engine.begin() as connection:
            await believing.accept(connection, agent.id, second.epoch, now())
        assert (await link.until(Offer)).task.id == task_id


async def test_a_guesser_is_slowed_down(running_service: RunningService) -> None:
    """A hundred at a time, as many rounds as the bucket lasts: it refills while we guess."""
    rules: set[str] = set()
    for _ in range(40):
        async with asyncio.TaskGroup() as group:
            guesses = [
                group.create_task(_guess(running_service), name=f"guess {n}") for n in range(100)
            ]
        rules |= {it.result() for it in guesses}
        if "rate" in rules:
            break
    assert rules == {"body", "rate"}


async def _guess(running_service: RunningService) -> str:
    try:
        await post(running_service.service.url, "enrol", {}, dict)
    except Refused as refused:
        return str(refused.rule)
    return ""


async def test_a_database_that_cuts_everyone_off_is_survived(
    running_service: RunningService,
) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    dependencies = running_service.service.dependencies
    cut = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        async with dependencies.engine.connect() as connection:
            await connection.execute(cut)
        await eventually(
            lambda: not dependencies.signals.listening.is_set(), what="signals are lost"
        )
        await eventually(dependencies.signals.listening.is_set, what="signals are back")
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        assert (await link.put([outbox.state(application("shop"))])).through == 1
        (agent,) = await running_service.rows(agents)
        async with dependencies.engine.begin() as connection:
            new = QueuedTask(
                account_id=agent.account_id,
                agent_id=agent.id,
                arguments=SyncArguments(),
                actor="ann",
            )
            task_id = await dependencies.tasks.submit(connection, new)
        assert (await link.until(Offer)).task.id == task_id
