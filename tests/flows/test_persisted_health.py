"""The health of each object stands in the status where the settings ask for it, and follows."""

from __future__ import annotations

from typing import Any

from tests.flows.agent_fixture import AgentFixture

BALANCER = """
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: LoadBalancer, ports: [{port: 80}]}
"""


async def test_the_health_of_an_object_is_persisted_and_follows_it(agent: AgentFixture) -> None:
    await agent.apply_settings(
        "argocd-cmd-params-cm", {"controller.resource.health.persist": "true"}
    )

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
