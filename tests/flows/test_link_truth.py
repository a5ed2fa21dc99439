"""What a real agent tells of an application in trouble, seen at a real service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.house import House, config_map
from tests.flows.linked import Linked, linked_house
from tests.flows.near import AUTOMATED
from tests.support import eventually

pytestmark = pytest.mark.flow

RETRIED = {
    "syncPolicy": {"automated": {}, "retry": {"limit": 5, "backoff": {"duration": "60s"}}},
}


@pytest.fixture
async def linked(quiet_house: House, database_url: str, tmp_path: Path) -> AsyncIterator[Linked]:
    async with linked_house(quiet_house, database_url, tmp_path) as linked:
        yield linked


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


async def seen(linked: Linked, **wanted: Any) -> dict[str, Any]:
    """The application as the list of the service has it, once its fields are as wanted."""
    last: list[dict[str, Any]] = []

    async def holds() -> bool:
        last[:] = await linked.admin.items("/applications")
        return any(all(it[name] == value for name, value in wanted.items()) for it in last)

    await eventually(holds, within=40, what=f"{wanted} in {last}")
    return last[0]


async def test_the_pod_that_cannot_start_is_the_cause(linked: Linked) -> None:
    linked.house.commit({"web/deployment.yaml": deployment()})
    await linked.house.apply_app("web", "web", **AUTOMATED)
    found = await seen(linked, attention="Stuck")
    cause = found["cause"]
    group, kind, namespace, name = cause["object"].split("/")
    assert (group, kind, namespace) == ("", "Pod", linked.house.destination)
    assert name.startswith("web-")
    assert cause["reason"] == "ImagePullBackOff"
    assert "asked to fail this pod" in cause["message"]
    (need,) = (await linked.admin.call("GET", "/fleet"))["needYou"]
    assert need["cause"].startswith(f"Pod {name}: ImagePullBackOff: ")


async def test_a_failing_sync_is_seen_while_it_is_retried(linked: Linked) -> None:
    good = linked.house.commit(settings("1"))
    await linked.house.apply_app("web", "web", **RETRIED)
    await linked.house.until_synced("web")
    bad = linked.house.commit({"web/deployment.yaml": deployment(replicas="three")})
    await linked.house.patch_app("web", refreshed())
    found = await seen(linked, attention="SyncFailed")
    failure = found["syncFailure"]
    assert failure["retrying"]
    assert failure["object"].endswith("/web") or "replicas" in failure["message"]
    assert found["health"] == "Healthy"
    assert (found["running"]["revision"], found["wanted"]["revision"]) == (good, bad)
    (need,) = (await linked.admin.call("GET", "/fleet"))["needYou"]
    assert need["commit"] == bad


async def test_an_application_that_cannot_be_rendered_needs_a_person(linked: Linked) -> None:
    linked.house.commit({"web/broken.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: [\n"})
    await linked.house.apply_app("web", "web", **AUTOMATED)
    await seen(linked, attention="Unreadable")
    (need,) = (await linked.admin.call("GET", "/fleet"))["needYou"]
    assert "broken.yaml" in need["cause"]


async def test_a_rollback_says_so_until_it_ends(linked: Linked) -> None:
    house, admin = linked.house, linked.admin
    first = house.repository.commit(settings("1"), message="one")
    await house.apply_app("web", "web")
    id_ = (await seen(linked, sync="OutOfSync"))["id"]
    await admin.order("POST", f"/applications/{id_}/refresh", {})
    await admin.order("POST", f"/applications/{id_}/sync", {})
    await seen(linked, sync="Synced")
    second = house.repository.commit(settings("2"), message="two")
    await admin.order("POST", f"/applications/{id_}/refresh", {})
    await seen(linked, sync="OutOfSync", revision=second)
    await admin.order("POST", f"/applications/{id_}/sync", {})
    await seen(linked, sync="Synced", revision=second)
    history = await admin.items(f"/applications/{id_}/history")
    back = next(one for one in history if one["revision"] == first)
    await admin.order("POST", f"/applications/{id_}/rollback", {"historyId": back["id"]})

    async def rolled_back() -> bool:
        (found,) = await admin.items("/applications")
        return bool(found["running"]["rolledBack"])

    await eventually(rolled_back, within=40)
    await eventually(lambda: apart(linked, (first, "one"), (second, "two")), within=40)
    await admin.order("POST", f"/applications/{id_}/sync", {})
    await eventually(lambda: ended(linked), within=40)


async def apart(linked: Linked, running: tuple[str, str], wanted: tuple[str, str]) -> bool:
    """Each revision with its own commit, as soon as the agent told of both."""
    (found,) = await linked.admin.items("/applications")
    told = [
        (one["revision"], one["commit"]["message"]) for one in (found["running"], found["wanted"])
    ]
    assert told == [running, wanted], told
    return bool(found["running"]["by"])


async def ended(linked: Linked) -> bool:
    (found,) = await linked.admin.items("/applications")
    return not found["running"]["rolledBack"]


def settings(value: str) -> dict[str, str]:
    return {"web/settings.yaml": config_map("settings", a=value)}


def refreshed() -> dict[str, Any]:
    return {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
