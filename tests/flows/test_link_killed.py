"""`kill -9` of the agent at any moment: the end of each task is known, and none is done twice."""

import asyncio
import random
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.child import Child, Program
from agent.loopback import answers_ok, free_port
from bus.link import Offer, Task, TaskKind, TaskPhase
from playground.kubernetes import ControlPlane
from tests.bridge.farend import FarEnd, quiet
from tests.flows.house import House, config_map
from tests.flows.near import allow
from tests.support import eventually

pytestmark = [pytest.mark.flow, pytest.mark.timeout(240)]

_AGENT = "from cli.main import main; main()"
SEED = 20260101
ROUNDS = 4


@pytest.fixture
async def far() -> AsyncIterator[FarEnd]:
    async with FarEnd().open() as far:
        yield far


@pytest.fixture
async def process(
    quiet_house: House, far: FarEnd, control_plane: ControlPlane, tmp_path: Path
) -> AsyncIterator[Child]:
    token, port, settings = tmp_path / "token", free_port(), quiet_house.settings
    token.write_text(far.token)
    await allow(quiet_house)
    assert settings.nats.url is not None
    program = Program(
        name="gitops-agent",
        command=(sys.executable, "-c", _AGENT, "agent", "run"),
        folder=tmp_path,
        environment={
            "PYTHONPATH": str(Path(__file__).parents[2]),
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
            "GITOPS_LINK_URL": far.url,
            "GITOPS_LINK_TOKEN_FILE": str(token),
        },
        ready_within=60.0,
        stop_grace=30.0,
    )
    child = Child(program, answers_ok(f"http://127.0.0.1:{port}/leaderz"))
    await child.start()
    yield child
    await child.stop()


async def test_a_killed_agent_ends_each_task_once(
    quiet_house: House, far: FarEnd, process: Child
) -> None:
    chance = random.Random(SEED)  # noqa: S311  a test repeats itself
    house = quiet_house
    house.commit({"web/config.yaml": config_map("web", n="0")})
    await house.apply_app("web", "web")
    await far.connected()
    wanted = []
    for number in range(1, ROUNDS + 1):
        house.commit({"web/config.yaml": config_map("web", n=str(number))})
        sync = Task(
            id=uuid.uuid4().hex,
            kind=TaskKind.SYNC,
            subject=f"{house.namespace}/web",
            actor=f"round {number}",
        )
        wanted.append(sync.id)
        before = len(far.hellos)
        await far.say(Offer(task=sync))
        await asyncio.sleep(chance.uniform(0, 0.4))  # where in its work the kill hits it
        process.kill()
        await process.start()
        await eventually(lambda: len(far.hellos) > before, within=60)  # noqa: B023  awaited here
        await eventually_ended(far, sync)
    await quiet(far)
    app = await house.app("web")
    begun = [entry["initiatedBy"]["username"] for entry in app["status"]["history"]]
    assert len(begun) == len(set(begun))
    for task_id in wanted:
        ends = {(one.phase, one.code) for one in far.results[task_id]}
        assert ends <= {(TaskPhase.SUCCEEDED, "ok")}, far.results[task_id]
    facts = [item.id for item in far.facts]
    assert len(facts) == len(set(facts))


async def eventually_ended(far: FarEnd, sync: Task) -> None:
    """As the service does: offered again on a new link until there is an end."""

    async def ended() -> Any:
        await far.say(Offer(task=sync))
        await asyncio.sleep(0.3)  # an offer a moment is enough
        return far.results.get(sync.id)

    await eventually(ended, within=60)
