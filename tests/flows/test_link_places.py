"""What lives in the cluster, seen at the service: agent and service, both real."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from service.store.tables import instances, objects
from tests.flows.administrator import Administrator
from tests.flows.agent_fixture import AgentFixture
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.support import eventually

LABELS = {"plumbline.dev/service": "shop", "plumbline.dev/environment": "production"}


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


def deployment(image: str, *, broken: bool = False) -> str:
    """Two pods; broken ones never start, so that a rollout stays half way."""
    fail = ', playground/fail: "true"' if broken else ""
    return f"""
apiVersion: apps/v1
kind: Deployment
metadata: {{name: web}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: web}}}}
  template:
    metadata: {{labels: {{app: web{fail}}}}}
    spec: {{containers: [{{name: main, image: "{image}"}}]}}
"""


async def running(admin: Administrator) -> dict[str, tuple[int, int]]:
    """Image -> instances, and how many of them are ready."""
    found: dict[str, tuple[int, int]] = {}
    for pod in await admin.items("/instances?service=shop&environment=production&region=eu"):
        image = ",".join(pod["images"])
        count, ready = found.get(image, (0, 0))
        found[image] = (count + 1, ready + pod["ready"])
    return found


async def until_running(admin: Administrator, **expected: tuple[int, int]) -> None:
    images = {f"shop:{name[1:]}": counts for name, counts in expected.items()}

    async def seen() -> bool:
        return await running(admin) == images

    await eventually(seen, within=120, what=f"instances {images}")


async def deliver(linked_agent: LinkedAgent, manifest: str) -> str:
    """The commit, which the agent was asked to look for."""
    commit = linked_agent.agent.commit({"web/web.yaml": manifest})
    (app,) = await linked_agent.admin.items("/applications?search=web")
    await linked_agent.admin.order("POST", f"/applications/{app['id']}/refresh", {})
    return commit


async def start(linked_agent: LinkedAgent) -> str:
    """An application `web` with two pods; its commit."""
    agent = linked_agent.agent
    commit = agent.commit({"web/web.yaml": deployment("shop:1")})
    policy: dict[str, Any] = {"automated": {}}
    await agent.apply_app("web", "web", metadata={"labels": LABELS}, syncPolicy=policy)
    await until_running(linked_agent.admin, v1=(2, 2))
    return commit


async def test_a_rollout_shows_the_pods_of_both_images_until_it_is_done(
    linked_agent: LinkedAgent,
) -> None:
    admin, commit = linked_agent.admin, await start(linked_agent)
    await linked_agent.agent.until_synced("web")
    await eventually(lambda: revisions(admin, [commit]), what="the commit that runs")
    pod = (await admin.items("/instances"))[0]
    assert (pod["namespace"], pod["applicationName"]) == (linked_agent.agent.destination, "web")
    assert pod["startedAt"]
    await deliver(linked_agent, deployment("shop:2", broken=True))
    await until_running(admin, v1=(2, 2), v2=(1, 0))
    (service,) = await admin.items("/services")
    assert (service["name"], service["environment"]) == ("shop", "production")
    assert {it["image"]: it["ready"] for it in service["images"]} == {"shop:1": 2, "shop:2": 0}
    assert (service["instances"], service["ready"]) == (3, 2)
    last = await deliver(linked_agent, deployment("shop:3"))
    await until_running(admin, v3=(2, 2))
    await eventually(lambda: revisions(admin, [last]), what="the commit that runs")


async def revisions(admin: Administrator, expected: list[str]) -> bool:
    (service,) = await admin.items("/services")
    return bool(service["revisions"] == expected)


async def test_instances_that_the_service_lost_are_asked_for_again(
    linked_agent: LinkedAgent,
) -> None:
    await start(linked_agent)
    async with linked_agent.running_service.service.dependencies.engine.begin() as connection:
        await connection.execute(delete(instances))
        await connection.execute(delete(objects).where(objects.c.kind == "Instances"))
    await until_running(linked_agent.admin, v1=(2, 2))


async def test_instances_go_with_their_application(linked_agent: LinkedAgent) -> None:
    await start(linked_agent)
    admin = linked_agent.admin
    (app,) = await admin.items("/applications")
    ended = await admin.order("DELETE", f"/applications/{app['id']}?cascade=true")
    assert ended["phase"] == "succeeded", ended
    await until_running(admin)

    async def none_is_left() -> bool:
        return await admin.items("/services") == []

    await eventually(none_is_left, what="the end of the service")
