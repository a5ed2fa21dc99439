"""What a real agent tells of an application in trouble, seen at a real service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from service.store.tables import facts
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import AUTOMATED
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.support import eventually

RETRIED = {
    "syncPolicy": {"automated": {}, "retry": {"limit": 5, "backoff": {"duration": "60s"}}},
}


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


def deployment(replicas: str = "1") -> str:
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: {replicas}
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata:
      labels: {{app: web, playground/fail: "true"}}
      annotations: {{playground/reason: ImagePullBackOff}}
    spec: {{containers: [{{name: main, image: "web:9"}}]}}
"""


async def seen(linked_agent: LinkedAgent, **expected: Any) -> dict[str, Any]:
    """The application as the list of the service has it, once its fields are as wanted."""
    last: list[dict[str, Any]] = []

    async def holds() -> bool:
        last[:] = await linked_agent.admin.items("/applications")
        return any(all(it[name] == value for name, value in expected.items()) for it in last)

    await eventually(holds, within=120, what=f"{expected} in {last}")
    return last[0]


async def cause_at_a_pod(linked_agent: LinkedAgent) -> dict[str, Any] | None:
    """The cause of the stuck application; until its pod is reported this is what owns it."""
    found = await seen(linked_agent, attention="Stuck")
    cause: dict[str, Any] = found["cause"]
    return cause if cause["object"].startswith("/Pod/") else None


async def test_the_pod_that_cannot_start_is_the_cause(linked_agent: LinkedAgent) -> None:
    linked_agent.agent.commit({"web/deployment.yaml": deployment()})
    await linked_agent.agent.apply_app("web", "web", **AUTOMATED)
    cause = await eventually(lambda: cause_at_a_pod(linked_agent), what="the pod as the cause")
    group, kind, namespace, name = cause["object"].split("/")
    assert (group, kind, namespace) == ("", "Pod", linked_agent.agent.destination)
    assert name.startswith("web-")
    assert cause["reason"] == "ImagePullBackOff"
    assert "asked to fail this pod" in cause["message"]
    (need,) = (await linked_agent.admin.call("GET", "/fleet"))["needYou"]
    assert need["cause"].startswith(f"Pod {name}: ImagePullBackOff: ")


async def test_commits_are_shown_where_no_fact_told_of_them(linked_agent: LinkedAgent) -> None:
    """As after a fresh enrolment: the agent reads them in its mirror."""
    sha = linked_agent.agent.commit(settings("1"))
    await linked_agent.agent.apply_app("web", "web", **AUTOMATED)
    await linked_agent.agent.until_synced("web")
    await seen(linked_agent, sync="Synced")
    async with linked_agent.running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(delete(facts))
    last: list[dict[str, Any]] = []

    async def shown() -> bool:
        last[:] = await linked_agent.admin.items("/applications")
        commits = [it["commit"] for it in (last[0]["running"], last[0]["wanted"])]
        return all(it["id"] == sha and it["author"] and it["message"] for it in commits)

    await eventually(shown, within=120, what=f"both commits in {last}")
    assert last[0]["running"]["commit"]["time"]


async def test_a_failing_sync_is_seen_while_it_is_retried(linked_agent: LinkedAgent) -> None:
    good = linked_agent.agent.commit(settings("1"))
    await linked_agent.agent.apply_app("web", "web", **RETRIED)
    await linked_agent.agent.until_synced("web")
    bad = linked_agent.agent.commit({"web/deployment.yaml": deployment(replicas="three")})
    await linked_agent.agent.patch_app("web", refreshed())
    found = await seen(linked_agent, attention="SyncFailed")
    failure = found["syncFailure"]
    assert failure["retrying"]
    assert failure["object"].endswith("/web") or "replicas" in failure["message"]
    assert found["health"] == "Healthy"
    assert (found["running"]["revision"], found["wanted"]["revision"]) == (good, bad)
    (need,) = (await linked_agent.admin.call("GET", "/fleet"))["needYou"]
    assert need["commit"] == bad


async def test_an_application_that_cannot_be_rendered_needs_a_person(
    linked_agent: LinkedAgent,
) -> None:
    linked_agent.agent.commit({"web/broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n"})
    await linked_agent.agent.apply_app("web", "web", **AUTOMATED)
    await seen(linked_agent, attention="Unreadable")
    (need,) = (await linked_agent.admin.call("GET", "/fleet"))["needYou"]
    assert "broken.yaml" in need["cause"]


async def test_a_rollback_says_so_until_it_ends(linked_agent: LinkedAgent) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    first = agent.repository.commit(settings("1"), message="one")
    await agent.apply_app("web", "web")
    id_ = (await seen(linked_agent, sync="OutOfSync"))["id"]
    await admin.order("POST", f"/applications/{id_}/refresh", {})
    await admin.order("POST", f"/applications/{id_}/sync", {})
    await seen(linked_agent, sync="Synced")
    second = agent.repository.commit(settings("2"), message="two")
    await admin.order("POST", f"/applications/{id_}/refresh", {})
    await seen(linked_agent, sync="OutOfSync", revision=second)
    await admin.order("POST", f"/applications/{id_}/sync", {})
    await seen(linked_agent, sync="Synced", revision=second)
    history = await admin.items(f"/applications/{id_}/history")
    back = next(one for one in history if one["revision"] == first)
    await admin.order("POST", f"/applications/{id_}/rollback", {"historyId": back["id"]})

    async def rolled_back() -> bool:
        (found,) = await admin.items("/applications")
        return bool(found["running"]["rolledBack"])

    await eventually(rolled_back, within=120)
    await eventually(lambda: apart(linked_agent, (first, "one"), (second, "two")), within=120)
    await admin.order("POST", f"/applications/{id_}/sync", {})
    await eventually(lambda: ended(linked_agent), within=120)


async def apart(
    linked_agent: LinkedAgent, running: tuple[str, str], expected: tuple[str, str]
) -> bool:
    """Each revision with its own commit, as soon as the agent told of both."""
    (found,) = await linked_agent.admin.items("/applications")
    reported = [
        (one["revision"], one["commit"]["message"]) for one in (found["running"], found["wanted"])
    ]
    assert reported == [running, expected], reported
    return bool(found["running"]["by"])


async def ended(linked_agent: LinkedAgent) -> bool:
    (found,) = await linked_agent.admin.items("/applications")
    return not found["running"]["rolledBack"]


def settings(value: str) -> dict[str, str]:
    return {"web/settings.yaml": config_map("settings", a=value)}


def refreshed() -> dict[str, Any]:
    return {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
