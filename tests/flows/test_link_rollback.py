"""A rollback restores what was deployed: the revision, the source and its parameters."""

from __future__ import annotations

from typing import Any

from bus.link import TaskKind, TaskPhase
from tests.flows.fake_service_link import FakeServiceLink

CHART = {
    "web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    "web/templates/config.yaml": (
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n"
        "data: {size: '{{ .Values.size }}'}\n"
    ),
}


def sized(size: str) -> dict[str, Any]:
    return {"helm": {"parameters": [{"name": "size", "value": size}]}}


async def live_size(link: FakeServiceLink) -> str:
    found = await link.agent.get("configmaps/web")
    assert found is not None
    return str(found["data"]["size"])


async def deployed_twice(link: FakeServiceLink) -> None:
    """At one and the same commit, with two parameters."""
    link.agent.commit(CHART)
    automated = {"automated": {"prune": True, "selfHeal": True}}
    for size in ("small", "large"):
        await link.agent.apply_app("web", "web", source=sized(size), syncPolicy=automated)
        await deployed(link, size)


async def deployed(link: FakeServiceLink, size: str) -> None:
    await link.agent.until(lambda app: history(app)[-1:] == [size], app="web")


def history(app: dict[str, Any]) -> list[str]:
    entries = app.get("status", {}).get("history", [])
    return [one["source"]["helm"]["parameters"][0]["value"] for one in entries]


async def test_a_rollback_restores_the_parameters_and_not_only_the_revision(
    link: FakeServiceLink,
) -> None:
    await deployed_twice(link)
    assert await live_size(link) == "large"
    automated = {"automated": {"prune": True, "selfHeal": True, "enabled": False}}
    await link.agent.apply_app("web", "web", source=sized("large"), syncPolicy=automated)
    preview = await link.do(TaskKind.DIFF, historyId=0, preview=True)
    done = await link.do(TaskKind.ROLLBACK, historyId=0)
    app = await link.agent.until(lambda app: len(history(app)) == 3, app="web")
    assert [one["action"] for one in preview.body["intents"]] == ["change"]
    assert done.phase is TaskPhase.SUCCEEDED, done
    assert await live_size(link) == "small"
    assert history(app) == ["small", "large", "small"]
    await link.agent.until(lambda app: app["status"]["sync"]["status"] == "OutOfSync", app="web")


async def test_a_rollback_of_what_syncs_by_itself_says_what_to_switch_off(
    link: FakeServiceLink,
) -> None:
    await deployed_twice(link)
    refused = await link.do(TaskKind.ROLLBACK, historyId=0)
    unknown = await link.do(TaskKind.ROLLBACK, historyId=99)
    assert (refused.code, unknown.phase) == ("conflict", TaskPhase.FAILED)
    assert "automated.enabled to false" in refused.message
    assert await live_size(link) == "large"
