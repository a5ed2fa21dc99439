"""Secrets planted wherever people put them: in no log and on no page, of agent or service."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from playground.demo.far_end import FarEnd, open_far_end
from tests.flows.house import House, config_map
from tests.flows.near import allow, linked_by
from tests.support import eventually

pytestmark = [pytest.mark.flow, pytest.mark.timeout(240)]

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
async def far(database_url: str, tmp_path: Path) -> AsyncIterator[FarEnd]:
    async with open_far_end(tmp_path / "far", database_url) as far:
        yield far


@pytest.fixture
async def linked(quiet_house: House, far: FarEnd, tmp_path: Path) -> House:
    await allow(quiet_house)
    token = await far.new_agent("prod", "production", "eu")
    return linked_by(token, far.url, quiet_house, tmp_path)


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


async def page(far: FarEnd, path: str) -> str:
    async with far.session.get(f"/api/v1/{path}") as answer:
        return f"{answer.status} {await answer.text()}"


async def test_no_planted_secret_is_in_a_log_or_on_a_page(linked: House, far: FarEnd) -> None:
    canary = f"c4nary-{uuid.uuid4().hex}"
    broken = f"apiVersion: v1\nkind: Secret\nmetadata: {{name: db}}\nstringData: {{p: [{canary}\n"
    linked.commit(planted(canary))
    with capture_logs() as logged:
        async with linked.running():
            parameters = [{"name": "db.password", "value": canary}]
            await linked.apply_app("web", "web", syncPolicy={"automated": {}})
            await linked.apply_app("other", "web", source={"helm": {"parameters": parameters}})
            shown = await eventually(lambda: synced(far), within=60)
            places = {"id": shown["id"], "namespace": linked.destination}
            told = {path: await page(far, path.format(**places)) for path in PAGES}
            linked.repository.commit(
                {"web/db.yaml": broken}, message=f"see https://me:{canary}@host/x"
            )
            await eventually(lambda: refused(far), within=60, what="the broken file is told")
            told |= {f"{path} later": await page(far, path.format(**places)) for path in PAGES}
    told |= {"log of the service": far.server.child.program.log.read_text()}
    told |= {"log of the agent": str(logged)}
    assert [path for path, text in told.items() if canary in text] == []
    missed = {path: text[:80] for path, text in told.items() if path in PAGES and text[:3] != "200"}
    assert missed == {}
    assert "task begun" in told["log of the agent"]


async def synced(far: FarEnd) -> dict[str, Any]:
    found = await far.application("prod", "web")
    return found if found and found["sync"] == "Synced" else {}


async def refused(far: FarEnd) -> bool:
    found = await far.application("prod", "web")
    return bool(found and found["conditions"])
