"""`kill -9` of the agent at any moment: the end of each task is known, and none is done twice."""

import asyncio
import random
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.child_process import ChildProcess, ChildProgram
from agent.loopback import answers_ok, free_port
from bus.link import LinkTask, Offer, TaskKind, TaskPhase
from playground.kubernetes import ControlPlane
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import allow
from tests.paths import REPOSITORY
from tests.support import eventually
from tests.unit.agent.bridge.fake_service import FakeService, quiet

pytestmark = pytest.mark.timeout(400)

_AGENT = "from cli.main import main; main()"
SEED = 20260101
ROUNDS = 4


@pytest.fixture
async def fake_service() -> AsyncIterator[FakeService]:
    async with FakeService().open() as fake_service:
        yield fake_service


@pytest.fixture
async def process(
    stopped_agent: AgentFixture,
    fake_service: FakeService,
    control_plane: ControlPlane,
    tmp_path: Path,
) -> AsyncIterator[ChildProcess]:
    token, port, settings = tmp_path / "token", free_port(), stopped_agent.settings
    token.write_text(fake_service.token)
    await allow(stopped_agent)
    assert settings.nats.url is not None
    program = ChildProgram(
        name="gitops-agent",
        command=(sys.executable, "-c", _AGENT, "agent", "run"),
        folder=tmp_path,
        environment={
            "PYTHONPATH": str(REPOSITORY),
            "GITOPS_ACCOUNT": settings.account,
            "GITOPS_AGENT": settings.agent,
            "GITOPS_NAMESPACE": settings.namespace,
            "GITOPS_DESTINATION_NAMESPACES": ",".join(settings.destination_namespaces),
            "GITOPS_NATS_URL": settings.nats.url.get_secret_value(),
            "GITOPS_KUBE_KUBECONFIG": str(control_plane.kubeconfig),
            "GITOPS_STATE_DIR": str(tmp_path / "process"),
            "GITOPS_SANDBOX_BINARY": str(settings.sandbox.binary),
            "GITOPS_LEASE_ENABLED": "false",
            "GITOPS_HTTP_PORT": str(free_port()),
            "GITOPS_HTTP_METRICS_PORT": str(port),
            "GITOPS_LINK_URL": fake_service.url,
            "GITOPS_LINK_TOKEN_FILE": str(token),
        },
        ready_within=120.0,
        stop_grace=30.0,
    )
    child = ChildProcess(program, answers_ok(f"http://127.0.0.1:{port}/leaderz"))
    await child.start()
    yield child
    await child.stop()


async def test_a_killed_agent_ends_each_task_once(
    stopped_agent: AgentFixture, fake_service: FakeService, process: ChildProcess
) -> None:
    chance = random.Random(SEED)  # noqa: S311  a test repeats itself
    agent = stopped_agent
    agent.commit({"web/config.yaml": config_map("web", n="0")})
    await agent.apply_app("web", "web")
    await fake_service.connected()
    expected = []
    for number in range(1, ROUNDS + 1):
        agent.commit({"web/config.yaml": config_map("web", n=str(number))})
        sync = LinkTask(
            id=uuid.uuid4().hex,
            kind=TaskKind.SYNC,
            subject=f"{agent.namespace}/web",
            actor=f"round {number}",
        )
        expected.append(sync.id)
        before = len(fake_service.hellos)
        await fake_service.send(Offer(task=sync))
        await asyncio.sleep(chance.uniform(0, 0.4))  # where in its work the kill hits it
        process.kill()
        await process.start()
        await eventually(lambda: len(fake_service.hellos) > before, within=120)  # noqa: B023  awaited here
        await eventually_ended(fake_service, sync)
    await quiet(fake_service)
    app = await agent.app("web")
    begun = [entry["initiatedBy"]["username"] for entry in app["status"]["history"]]
    assert len(begun) == len(set(begun))
    for task_id in expected:
        ends = {(one.phase, one.code) for one in fake_service.results[task_id]}
        assert ends <= {(TaskPhase.SUCCEEDED, "ok")}, fake_service.results[task_id]
    facts = [item.id for item in fake_service.facts]
    assert len(facts) == len(set(facts))


async def eventually_ended(fake_service: FakeService, sync: LinkTask) -> None:
    """As the service does: offered again on a new link until there is an end."""

    async def ended() -> Any:
        await fake_service.send(Offer(task=sync))
        await asyncio.sleep(0.3)  # an offer a moment is enough
        return fake_service.results.get(sync.id)

    await eventually(ended, within=120)
