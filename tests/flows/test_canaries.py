"""Secrets planted wherever people put them: in no log and on no page, of agent or service."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from playground.demo.control_plane import DemoService, open_demo_service
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import allow, linked_by
from tests.support import eventually

pytestmark = pytest.mark.timeout(240)

PAGES = (
    *("fleet", "applications", "agents", "repositories", "clusters", "certificates", "keys"),
    *("appprojects", "tasks", "timeline", "drifts", "instances", "services", "environments"),
    *("audit", "audit/export"),
    *(f"applications/{{id}}{page}" for page in ("", "/tree", "/manifests", "/diff", "/events")),
    *(f"applications/{{id}}/{page}" for page in ("history", "pushes", "timeline")),
    *(
        f"applications/{{id}}/live?group={group}&kind={kind}&namespace={{namespace}}&name={name}"
        for group, kind, name in (("", "Secret", "db"), ("apps", "Deployment", "web"))
    ),
)


@pytest.fixture
async def fake_service(database_url: str, tmp_path: Path) -> AsyncIterator[DemoService]:
    async with open_demo_service(tmp_path / "fake_service", database_url) as fake_service:
        yield fake_service


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, fake_service: DemoService, tmp_path: Path
) -> AgentFixture:
    await allow(stopped_agent)
    token = await fake_service.new_agent("prod", "production", "eu")
    return linked_by(token, fake_service.url, stopped_agent, tmp_path)


def planted(canary: str) -> dict[str, str]:
    """In a Secret, in texts beside it, in the environment and an annotation of a Deployment."""
    deployment = f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web, annotations: {{team/note: "{canary}"}}}}
spec:
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web}}, annotations: {{team/note: "{canary}"}}}}
    spec:
      containers:
        - name: web
          image: web:1
          args: ["--password={canary}", "--upstream=https://me:{canary}@host/x"]
          env: [{{name: SHARED, value: "{canary}"}}]
"""
    secret = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: {canary}}}\n"
    beside = config_map("leak", note=f"the password is {canary}")
    return {"web/web.yaml": deployment, "web/db.yaml": secret, "web/leak.yaml": beside}


async def page(fake_service: DemoService, path: str) -> str:
    async with fake_service.session.get(f"/api/v1/{path}") as answer:
        return f"{answer.status} {await answer.text()}"


async def test_no_planted_secret_is_in_a_log_or_on_a_page(
    linked_agent: AgentFixture, fake_service: DemoService
) -> None:
    canary = f"c4nary-{uuid.uuid4().hex}"
    broken = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: [{canary}\n"
    linked_agent.commit(planted(canary))
    with capture_logs() as logged:
        async with linked_agent.running():
            parameters = [{"name": "db.password", "value": canary}]
            await linked_agent.apply_app("web", "web", syncPolicy={"automated": {}})
            await linked_agent.apply_app(
                "other", "web", source={"helm": {"parameters": parameters}}
            )
            shown = await eventually(lambda: synced(fake_service), within=120)
            places = {"id": shown["id"], "namespace": linked_agent.destination}
            pages = {path: await page(fake_service, path.format(**places)) for path in PAGES}
            linked_agent.repository.commit(
                {"web/db.yaml": broken}, message=f"see https://me:{canary}@host/x"
            )
            await eventually(
                lambda: refused(fake_service), within=120, what="the broken file is told"
            )
            pages |= {
                f"{path} later": await page(fake_service, path.format(**places)) for path in PAGES
            }
    pages |= {"log of the service": fake_service.server.child.program.log.read_text()}
    pages |= {"log of the agent": str(logged)}
    assert [path for path, text in pages.items() if canary in text] == []
    missed = {
        path: text[:80] for path, text in pages.items() if path in PAGES and text[:3] != "200"
    }
    assert missed == {}
    assert "task begun" in pages["log of the agent"]


async def synced(fake_service: DemoService) -> dict[str, Any]:
    found = await fake_service.application("prod", "web")
    return found if found and found["sync"] == "Synced" else {}


async def refused(fake_service: DemoService) -> bool:
    found = await fake_service.application("prod", "web")
    return bool(found and found["conditions"])
