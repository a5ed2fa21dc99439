"""A rollback restores what was deployed: the revision, the source and its parameters."""

from __future__ import annotations

from typing import Any

import pytest

from bus.link import TaskKind, TaskPhase
from tests.flows.near import Near

pytestmark = pytest.mark.flow

CHART = {
    "web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "web/templates/config.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
        "data: {size: '{{ .Values.size }}'}\n"
    ),
}


def sized(size: str) -> dict[str, Any]:
    return {"helm": {"parameters": [{"name": "size", "value": size}]}}


async def live_size(near: Near) -> str:
    found = await near.house.get("configmaps/web")
    assert found is not None
    return str(found["data"]["size"])


async def deployed_twice(near: Near) -> None:
    """At one and the same commit, with two parameters."""
    near.house.commit(CHART)
    automated = {"automated": {"prune": True, "selfHeal": True}}
    for size in ("small", "large"):
        await near.house.apply_app("web", "web", source=sized(size), syncPolicy=automated)
        await deployed(near, size)


async def deployed(near: Near, size: str) -> None:
    await near.house.until(lambda app: history(app)[-1:] == [size], app="web")


def history(app: dict[str, Any]) -> list[str]:
    entries = app.get("status", {}).get("history", [])
    return [one["source"]["helm"]["parameters"][0]["value"] for one in entries]


async def test_a_rollback_restores_the_parameters_and_not_only_the_revision(near: Near) -> None:
    await deployed_twice(near)
    assert await live_size(near) == "large"
    automated = {"automated": {"prune": True, "selfHeal": True, "enabled": False}}
    await near.house.apply_app("web", "web", source=sized("large"), syncPolicy=automated)
    preview = await near.do(TaskKind.DIFF, historyId=0, preview=True)
    done = await near.do(TaskKind.ROLLBACK, historyId=0)
    app = await near.house.until(lambda app: len(history(app)) == 3, app="web")
    assert [one["action"] for one in preview.body["intents"]] == ["change"]
    assert done.phase is TaskPhase.SUCCEEDED, done
    assert await live_size(near) == "small"
    assert history(app) == ["small", "large", "small"]
    await near.house.until(lambda app: app["status"]["sync"]["status"] == "OutOfSync", app="web")


async def test_a_rollback_of_what_syncs_by_itself_says_what_to_switch_off(near: Near) -> None:
    await deployed_twice(near)
    refused = await near.do(TaskKind.ROLLBACK, historyId=0)
    unknown = await near.do(TaskKind.ROLLBACK, historyId=99)
    assert (refused.code, unknown.phase) == ("conflict", TaskPhase.FAILED)
    assert "automated.enabled to false" in refused.message
    assert await live_size(near) == "large"
