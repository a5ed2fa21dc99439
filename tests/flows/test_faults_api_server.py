"""The API server dies in the middle of a sync: the operation goes on where it was.

It has a control plane of its own. Network policies have a generation, which the API server raises
with every change of their content: one that was never applied with other content is still at 1.
Each wave but the last holds a gate, a Service whose load balancer comes when the test says so:
until then the wave is not healthy, so that each crash is in mid-sync however quick the agent is.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bus.events import OperationFinished, OperationStarted
from bus.identity import AppKey
from playground.background import BackgroundLoop
from playground.kubeapi import install_definitions
from playground.kubernetes import BreakableControlPlane
from playground.kubernetes import control_plane as open_control_plane
from tests.flows.agent_fixture import AgentFixture, conditions, is_synced
from tests.flows.evidence import a_fact, dead_letters, facts, phase
from tests.support import eventually

MANY = 300
WAVES = 3
PART = MANY // WAVES


@pytest.fixture(scope="module")
def mortal() -> Iterator[BackgroundLoop]:
    with BackgroundLoop("mortal") as loop:
        yield loop


@pytest.fixture(scope="module")
def control_plane(
    mortal: BackgroundLoop, parts_folder: Path, control_plane_binaries: Path
) -> BreakableControlPlane:
    """A cluster of this test alone, gone at its end."""
    return mortal.enter(open_control_plane(parts_folder / "mortal", control_plane_binaries))


@pytest.fixture(scope="module")
def definitions(
    mortal: BackgroundLoop, control_plane: BreakableControlPlane
) -> BreakableControlPlane:
    async def install() -> None:
        async with control_plane.api() as api:
            await install_definitions(api)

    mortal.call(install())
    return control_plane


async def test_a_sync_goes_on_after_crashes_of_the_api_server_and_applies_nothing_twice(
    agent: AgentFixture, control_plane: BreakableControlPlane
) -> None:
    gates = {f"web/gate-{wave}.yaml": gate(wave) for wave in range(WAVES - 1)}
    policies_of_all = {f"web/{number}.yaml": policy(number) for number in range(MANY)}
    sha = agent.commit({**gates, **policies_of_all})
    await agent.apply_app("web", "web", syncPolicy={"automated": {"selfHeal": True}})
    for wave in range(WAVES - 1):
        there = await until_there(agent, wave * PART + PART // 2)
        control_plane.kill_api_server()
        assert there <= (wave + 1) * (PART + 1)
        await control_plane.start_api_server()
        await open_gate(agent, wave)
    app = await agent.until(
        lambda app: is_synced(app) and phase(app) == "Succeeded", app="web", within=120
    )
    assert [one["revision"] for one in app["status"]["history"]] == [sha]
    assert conditions(app) == {}
    live = (await policies(agent))["items"]
    assert len(live) == MANY
    assert {one["metadata"]["generation"] for one in live} == {1}
    assert {len(ours(one)) for one in live} == {1}
    await a_fact(agent.parts.bus, OperationFinished)
    assert len(await facts(agent.parts.bus, OperationStarted)) == 1
    assert len(await facts(agent.parts.bus, OperationFinished)) == 1
    assert await dead_letters(agent.parts.bus) == []


def policy(number: int) -> str:
    return f"""
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: p{number}
  annotations: {{argocd.argoproj.io/sync-wave: '{number % WAVES}'}}
spec: {{podSelector: {{matchLabels: {{app: p{number}}}}}}}
"""


def gate(wave: int) -> str:
    return f"""
apiVersion: v1
kind: Service
metadata:
  name: gate-{wave}
  annotations: {{argocd.argoproj.io/sync-wave: '{wave}'}}
spec: {{type: LoadBalancer, selector: {{app: none}}, ports: [{{port: 80}}]}}
"""


async def open_gate(agent: AgentFixture, wave: int) -> None:
    """As the cloud's controller would: the wave is applied and waits for nothing else."""
    name = f"gate-{wave}"
    await eventually(lambda: agent.get(f"services/{name}"), within=120)
    path = f"/api/v1/namespaces/{agent.destination}/services/{name}/status"
    status = {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}
    await agent.api.patch(path, {"status": status})


async def policies(agent: AgentFixture, query: str = "") -> dict[str, Any]:
    path = f"/apis/networking.k8s.io/v1/namespaces/{agent.destination}/networkpolicies"
    return await agent.api.get(path + query)


async def until_there(agent: AgentFixture, number: int) -> int:
    """How many are there, once it is at least so many: by the index, which costs no request."""
    web = AppKey(agent.namespace, "web")

    def there() -> int:
        count = len(agent.parts.live.tracked(web))
        return count if count >= number else 0

    return await eventually(there, within=120)


def ours(live: dict[str, Any]) -> list[dict[str, Any]]:
    """The entries of the agent's applies: two would be two managers."""
    managed: list[dict[str, Any]] = live["metadata"]["managedFields"]
    return [one for one in managed if one["operation"] == "Apply"]
