"""The health of each object stands in the status where the settings ask for it, and follows."""

from __future__ import annotations

from typing import Any

from tests.flows.agent_fixture import AgentFixture
from tests.support import eventually

PARAMETERS = "/api/v1/namespaces/{}/configmaps/argocd-cmd-params-cm"
BALANCER = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ports: [{port: 80}]}
"""


async def test_the_health_of_an_object_is_persisted_and_follows_it(agent: AgentFixture) -> None:
    name = {"name": "argocd-cmd-params-cm", "namespace": agent.namespace}
    data = {"controller.resource.health.persist": "true"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": name, "data": data}
    await agent.api.apply(PARAMETERS.format(agent.namespace), body)
    settings = agent.parts.argo_settings
    await eventually(lambda: settings.now.persists_health, within=120)

    agent.commit({"web/web.yaml": BALANCER})
    await agent.apply_app("web", "web", syncPolicy={"automated": {}})
    app = await agent.until(lambda app: _health(app) == "Progressing", app="web", within=120)
    assert "resourceHealthSource" not in app["status"]

    ingress = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
    path = f"/api/v1/namespaces/{agent.destination}/services/web/status"
    await agent.api.patch(path, ingress)
    await agent.until(lambda app: _health(app) == "Healthy", app="web", within=120)


def _health(app: dict[str, Any]) -> str:
    resources = app.get("status", {}).get("resources", [])
    return next((one.get("health", {}).get("status", "") for one in resources), "")
