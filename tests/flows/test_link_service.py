"""Agent and service, both real, over the real link."""

import uuid
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from bus.link import (
    DiffArguments,
    ManifestsArguments,
    RefreshArguments,
    SyncArguments,
    TaskArguments,
    TaskPhase,
    TreeArguments,
)
from service.gateway.enrolment import revoke
from service.gateway.task_store import QueuedTask, TaskEnd
from service.lifecycle import Service, now
from service.store.tables import agents, applications, epochs, facts, metadata
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import allow
from tests.service.service_fixture import RunningService, open_service, settings
from tests.support import eventually

_SESSION = 24.0  # seconds


@pytest.fixture
async def running_service(database_url: str) -> AsyncIterator[RunningService]:
    quick = settings(database_url, roots_seconds=1.0, session_seconds=_SESSION)
    async with open_service(quick) as service:
        yield RunningService(service)


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, running_service: RunningService, tmp_path: Path
) -> AgentFixture:
    token = tmp_path / "token"
    token.write_text(await running_service.token(await running_service.agent()))
    await allow(stopped_agent)
    return at(stopped_agent, running_service.service, token)


def at(agent: AgentFixture, service: Service, token: Path) -> AgentFixture:
    link = agent.settings.link.model_copy(update={"url": service.url, "token_file": token})
    agent.settings = agent.settings.model_copy(update={"link": link})
    return agent


async def done(running_service: RunningService, arguments: TaskArguments, subject: str) -> TaskEnd:
    (agent,) = await running_service.rows(agents)
    new = QueuedTask(
        account_id=agent.account_id,
        agent_id=agent.id,
        subject=subject,
        actor="ann",
        arguments=arguments,
        not_after=now() + timedelta(minutes=5),
    )
    tasks = running_service.service.dependencies.tasks
    async with running_service.service.dependencies.engine.begin() as connection:
        task = await tasks.submit(connection, new)
    ended = await tasks.result(task, within=120)
    assert ended is not None
    return ended


async def in_step(running_service: RunningService) -> bool:
    return bool([row for row in await running_service.rows(agents) if row.roots_in_step])


async def everything(running_service: RunningService) -> str:
    """All that the database holds, as one text."""
    found = []
    async with running_service.service.dependencies.engine.connect() as connection:
        for table in metadata.sorted_tables:
            whole = text(f'SELECT t::text FROM "{table.name}" t')  # noqa: S608  our own tables
            rows = await connection.execute(whole)
            found += [row[0] for row in rows]
    return "\n".join(found)


async def test_what_the_agent_knows_is_in_the_service_and_no_secret_with_it(
    linked_agent: AgentFixture, running_service: RunningService
) -> None:
    canary = "c4nary-" + uuid.uuid4().hex
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    leak = config_map("leak", note=f"the password is {canary}")
    linked_agent.commit({"web/secret.yaml": secret, "web/leak.yaml": leak})
    async with linked_agent.running():
        note = {"annotations": {"team/x": canary}}
        parameters = {"helm": {"parameters": [{"name": "p", "value": canary}]}}
        await linked_agent.apply_app("web", "web", syncPolicy={"automated": {}}, metadata=note)
        await linked_agent.until_synced("web")
        await linked_agent.apply_app("other", "web", source=parameters)
        subject = f"{linked_agent.namespace}/web"
        for arguments in (TreeArguments(), ManifestsArguments(), DiffArguments()):
            ended = await done(running_service, arguments, subject)
            assert ended.phase is TaskPhase.SUCCEEDED, (arguments, ended)
        await eventually(lambda: in_step(running_service), what="roots in step")
        await eventually(lambda: is_shown_as_synced(running_service), what="web as it is")
        await eventually(lambda: is_reported(running_service, "fact.operation.finished.v1"))
    held = await everything(running_service)
    assert canary not in held
    assert "db" in held


async def test_a_sync_ordered_at_the_service_is_done_here(
    linked_agent: AgentFixture, running_service: RunningService
) -> None:
    linked_agent.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked_agent.running():
        await linked_agent.apply_app("web", "web")
        await linked_agent.until(lambda app: app.get("status", {}).get("resources"), app="web")
        ended = await done(running_service, SyncArguments(), f"{linked_agent.namespace}/web")
        app = await linked_agent.until_synced("web")
    assert ended.phase is TaskPhase.SUCCEEDED, ended
    assert app["status"]["history"][-1]["initiatedBy"] == {"username": "ann"}


async def test_a_session_is_renewed_while_the_link_stays(
    linked_agent: AgentFixture, running_service: RunningService
) -> None:
    async with linked_agent.running():
        (row,) = await eventually(lambda: enrolled(running_service))
        began = row.fence
        until = now() + timedelta(seconds=_SESSION * 1.2)
        await eventually(lambda: has_passed(until), within=120)
        ended = await done(running_service, RefreshArguments(), f"{linked_agent.namespace}/nothing")
        (row,) = await running_service.rows(agents)
    assert ended.code == "not_found"
    assert row.fence == began


async def has_passed(time: Any) -> bool:
    return bool(now() > time)


async def enrolled(running_service: RunningService) -> list[Any]:
    return [row for row in await running_service.rows(agents) if row.fence]


async def test_a_revoked_agent_is_cut_off_and_goes_on_with_its_work(
    linked_agent: AgentFixture, running_service: RunningService
) -> None:
    linked_agent.commit({"web/config.yaml": config_map("web", a="1")})
    async with linked_agent.running():
        (row,) = await eventually(lambda: enrolled(running_service))
        async with running_service.service.dependencies.engine.begin() as connection:
            await revoke(connection, row.id, now())
        await linked_agent.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked_agent.until_synced("web")
    assert not [row for row in await running_service.rows(applications) if row.sync == "Synced"]


async def test_a_service_that_was_away_hears_everything_when_it_is_back(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> None:
    stopped_agent.commit({"web/config.yaml": config_map("web", a="1")})
    token = tmp_path / "token"
    quick = settings(database_url, roots_seconds=1.0)
    async with open_service(quick) as service:
        running_service = RunningService(service)
        token.write_text(await running_service.token(await running_service.agent()))
        port = service.port
        linked_agent = at(stopped_agent, service, token)
        async with linked_agent.running():
            await eventually(lambda: enrolled(running_service))
    async with linked_agent.running():
        await linked_agent.apply_app("web", "web", syncPolicy={"automated": {}})
        await linked_agent.until_synced("web")
        again = quick.model_copy(update={"port": port})
        async with open_service(again) as service:
            running_service = RunningService(service)
            await eventually(
                lambda: is_reported(running_service, "fact.operation.finished.v1"), within=120
            )
            await eventually(lambda: in_step(running_service))
            assert len(await running_service.rows(epochs)) == 1


async def is_shown_as_synced(running_service: RunningService) -> bool:
    rows = await running_service.rows(applications)
    return [row.sync for row in rows if row.name == "web"] == ["Synced"]


async def is_reported(running_service: RunningService, kind: str) -> bool:
    return any(row.type == kind for row in await running_service.rows(facts))
