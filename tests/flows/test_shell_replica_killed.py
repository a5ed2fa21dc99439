"""`kill -9` of the replica that carries a shell: the shell ends, and the audit says so once."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, update

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_ok, free_port
from playground.server import Server
from service.store.tables import open_shells
from tests.flows.administrator import administrator
from tests.flows.agent_fixture import AgentFixture
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.flows.shell_fixture import POD, pods
from tests.flows.test_exclusions import put_settings
from tests.service.service_fixture import key_path
from tests.support import eventually

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    """Its agent is linked to the replica that lives on."""
    await put_settings(stopped_agent, exec_enabled="true")
    async with open_linked_agent(
        stopped_agent, database_url, tmp_path, limits={"exec": "true"}
    ) as linked_agent:
        yield linked_agent


@pytest.fixture
async def second_replica(
    linked_agent: LinkedAgent, database_url: str, tmp_path: Path
) -> AsyncIterator[Server]:
    """Another process on the same database, with the same keys."""
    assert linked_agent.running_service.service.port  # the first one has migrated
    port = free_port()
    program = ChildProgram(
        name="second-replica",
        command=(sys.executable, "-c", "from cli.main import main; main()", "service", "run"),
        folder=tmp_path / "second-replica",
        environment={
            "GITOPS_SERVICE_DATABASE_URL": database_url,
            "GITOPS_SERVICE_PORT": str(port),
            "GITOPS_SERVICE_METRICS_PORT": str(free_port()),
            "GITOPS_SERVICE_KEY_FILE": str(key_path()),
        },
        ready_within=120.0,
    )
    url = f"http://127.0.0.1:{port}"
    async with ChildProcess(program, answers_ok(f"{url}/healthz")) as child:
        yield Server(url=url, child=child)


async def test_a_shell_ends_with_the_replica_that_carried_it_and_is_recorded_once(
    linked_agent: LinkedAgent, second_replica: Server, tmp_path: Path
) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    agent.commit(pods())
    await agent.apply_app("web", "web", syncPolicy={"automated": {}})
    await agent.until_synced("web")

    async def shown() -> Any:
        return [it for it in await admin.items("/applications") if it["sync"] == "Synced"]

    (app,) = await eventually(shown, what="the application at the service")
    path = f"/api/v1/applications/{app['id']}/exec"
    query = {"pod": POD, "namespace": agent.destination}
    async with (
        administrator(linked_agent.running_service, second_replica.url) as visitor,
        visitor.http.ws_connect(path, params=query) as socket,
    ):
        typed = f"trap 'echo gone > {tmp_path}/gone' EXIT HUP; echo re''ady\n"
        await socket.send_json({"type": "input", "text": typed})
        shown_text = ""
        async with asyncio.timeout(120):
            while "ready" not in shown_text:
                shown_text += (await socket.receive_json()).get("text", "")
        second_replica.kill()
    await _let_leases_end(linked_agent)

    async def recorded() -> Any:
        return await admin.items("/audit?action=exec.ended")

    found = await eventually(recorded, within=120, what="the record of the end")
    await eventually((tmp_path / "gone").exists, what="the end of the shell")
    (begun,) = await admin.items("/audit?action=exec.begun")
    (ended,) = found
    assert ended["detail"]["task"] == begun["detail"]["task"]
    assert (ended["actor"], ended["source"]) == (begun["actor"], "service")
    assert "the replica of the service that carried it was lost" in ended["detail"]["reason"]
    assert await linked_agent.running_service.rows(open_shells) == []
    task = await admin.call("GET", f"/tasks/{begun['detail']['task']}")
    assert task["finishedAt"]


async def _let_leases_end(linked_agent: LinkedAgent) -> None:
    """The killed replica renews none: what is left of the lease is not waited for."""
    engine = linked_agent.running_service.service.dependencies.engine
    async with engine.begin() as connection:
        past = func.now() - timedelta(seconds=1)
        changed = await connection.execute(update(open_shells).values(kept_until=past))
    assert changed.rowcount == 1
