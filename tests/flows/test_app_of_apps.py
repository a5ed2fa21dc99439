"""The waves of an app of apps wait for the health of its children."""

from __future__ import annotations

from tests.flows.agent_fixture import SERVER, AgentFixture, config_map
from tests.support import eventually

BALANCED = """
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {type: LoadBalancer, ports: [{port: 80}]}
"""
ADDRESS = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}


def child(agent: AgentFixture, name: str, wave: int) -> str:
    return f"""
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata:
  name: {name}
  namespace: {agent.namespace}
  annotations: {{argocd.argoproj.io/sync-wave: "{wave}"}}
spec:
  project: default
  source: {{repoURL: "{agent.repository.url}", path: {name}, targetRevision: main}}
  destination: {{server: "{SERVER}", namespace: {agent.destination}}}
  syncPolicy: {{automated: {{}}}}
"""


async def test_the_second_child_is_made_when_the_first_is_healthy(
    stopped_agent: AgentFixture,
) -> None:
    agent = stopped_agent
    agent.settings = agent.settings.model_copy(update={"control_namespace_kinds": ("Application",)})
    async with agent.running():
        await grown_by_waves(agent)


async def grown_by_waves(agent: AgentFixture) -> None:
    agent.commit(
        {
            "apps/first.yaml": child(agent, "first", 0),
            "apps/second.yaml": child(agent, "second", 1),
            "first/service.yaml": BALANCED,
            "second/map.yaml": config_map("second"),
        }
    )
    await agent.apply_app("parent", "apps", syncPolicy={"automated": {}})

    async def first_is_deployed() -> bool:
        return await agent.get("services/front") is not None

    await eventually(first_is_deployed, within=120)
    await agent.until(
        lambda app: app["status"].get("health", {}).get("status") == "Progressing", app="first"
    )
    operation = (await agent.app("parent"))["status"]["operationState"]
    assert operation["phase"] == "Running"
    assert agent.known("second") is None

    front = f"/api/v1/namespaces/{agent.destination}/services/front/status"
    await agent.api.patch(front, ADDRESS)
    await agent.until_synced("parent")
    await agent.until_synced("second")
