"""Agent and service, both real, over the real link."""

import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bus.link import TaskKind, TaskPhase
from service.app import Service, now
from service.gateway.enrolment import revoke
from service.gateway.tasks import Ended, NewTask
from service.store.tables import agents, applications, epochs, facts, metadata
from tests.flows.house import House, config_map, is_synced
from tests.flows.near import allow
from tests.service.world import World, open_service, settings
from tests.support import eventually

pytestmark = pytest.mark.flow


@pytest.fixture
async def world(database_url: str) -> AsyncIterator[World]:
    quick = settings(database_url, roots_seconds=1.0, session_seconds=6.0)
    async with open_service(quick) as service:
        yield World(service)


@pytest.fixture
async def linked(quiet_house: House, world: World, tmp_path: Path) -> House:
    token = tmp_path / "token"
    token.write_text(await world.token(await world.agent()))
    await allow(quiet_house)
    return at(quiet_house, world.service, token)


def at(house: House, service: Service, token: Path) -> House:
    link = house.settings.link.model_copy(update={"url": service.url, "token_file": token})
    house.settings = house.settings.model_copy(update={"link": link})
    return house


async def done(world: World, kind: TaskKind, subject: str, **arguments: Any) -> Ended:
    (agent,) = await world.rows(agents)
    new = NewTask(
        account_id=agent.account_id,
        agent_id=agent.id,
        kind=kind,
        subject=subject,
        actor="ann",
        arguments=arguments,
        not_after=now() + timedelta(minutes=5),
    )
    tasks = world.service.parts.tasks
    async with world.service.parts.engine.begin() as connection:
        task = await tasks.submit(connection, new)
    ended = await tasks.result(task, within=40)
    assert ended is not None
    return ended


async def in_step(world: World) -> bool:
    return bool([row for row in await world.rows(agents) if row.roots_in_step])


async def everything(world: World) -> str:
    """All that the database holds, as one text."""
    found = []
    async with world.service.parts.engine.connect() as connection:
        for table in metadata.sorted_tables:
            whole = text(f'SELECT t::text FROM "{table.name}" t')  # noqa: S608  our own tables
            rows = await connection.execute(whole)
            found += [row[0] for row in rows]
    return "\n".join(found)


async def test_what_the_agent_knows_is_in_the_service_and_no_secret_with_it(
    linked: House, world: World
) -> None:
    canary = "c4nary-" + uuid.uuid4().hex
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    leak = config_map("leak", note=f"the password is {canary}")
    linked.commit({"web/secret.yaml": secret, "web/leak.yaml": leak})
    async with linked.running():
        note = {"annotations": {"team/x": canary}}
        parameters = {"helm": {"parameters": [{"name": "p", "value": canary}]}}
        await linked.apply_app("web", "web", syncPolicy={"automated": {}}, metadata=note)
        await linked.until_synced("web")
        await linked.apply_app("other", "web", source=parameters)
        subject = f"{linked.namespace}/web"
        for kind in (TaskKind.TREE, TaskKind.MANIFESTS, TaskKind.DIFF):
            ended = await done(world, kind, subject)
            assert ended.phase is TaskPhase.SUCCEEDED, (kind, ended)
        await eventually(lambda: in_step(world), what="roots in step")
        rows = await world.rows(applications)
        assert {(row.name, row.sync) for row in rows if row.name == "web"} == {("web", "Synced")}
        told = {row.type for row in await world.rows(facts)}
    assert "fact.operation.finished.v1" in told
    held = await everything(world)
    assert canary not in held
    assert "db" in held


async def test_a_sync_ordered_at_the_service_is_done_here(linked: House, world: World) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        await linked.apply_app("web", "web")
        await linked.until(lambda app: app.get("status", {}).get("resources"), app="web")
        ended = await done(world, TaskKind.SYNC, f"{linked.namespace}/web")
        app = await linked.app("web")
    assert ended.phase is TaskPhase.SUCCEEDED, ended
    assert is_synced(app)
    assert app["status"]["history"][-1]["initiatedBy"] == {"username": "ann"}


async def test_a_session_is_renewed_while_the_link_stays(linked: House, world: World) -> None:
    async with linked.running():
        (row,) = await eventually(lambda: enrolled(world))
        began = row.fence
        until = now() + timedelta(seconds=10)
        await eventually(lambda: past(until), within=30)
        ended = await done(world, TaskKind.REFRESH, f"{linked.namespace}/nothing")
        (row,) = await world.rows(agents)
    assert ended.code == "not_found"
    assert row.fence == began


async def past(moment: Any) -> bool:
    return bool(now() > moment)


async def enrolled(world: World) -> list[Any]:
    return [row for row in await world.rows(agents) if row.fence]


async def test_a_revoked_agent_is_cut_off_and_goes_on_with_its_work(
    linked: House, world: World
) -> None:
    linked.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked.running():
        (row,) = await eventually(lambda: enrolled(world))
        async with world.service.parts.engine.begin() as connection:
            await revoke(connection, row.id, now())
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
    assert not [row for row in await world.rows(applications) if row.sync == "Synced"]


async def test_a_service_that_was_away_hears_everything_when_it_is_back(
    quiet_house: House, database_url: str, tmp_path: Path
) -> None:
    quiet_house.commit({"web/config.yaml": config_map("web", a="1")})
    token = tmp_path / "token"
    quick = settings(database_url, roots_seconds=1.0)
    async with open_service(quick) as service:
        world = World(service)
        token.write_text(await world.token(await world.agent()))
        port = service.port
        linked = at(quiet_house, service, token)
        async with linked.running():
            await eventually(lambda: enrolled(world))
    async with linked.running():
        await linked.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked.until_synced("web")
        again = quick.model_copy(update={"port": port})
        async with open_service(again) as service:
            world = World(service)
            await eventually(lambda: told(world, "fact.operation.finished.v1"), within=90)
            await eventually(lambda: in_step(world))
            assert len(await world.rows(epochs)) == 1


async def told(world: World, kind: str) -> bool:
    return any(row.type == kind for row in await world.rows(facts))
