"""Hooks of a deletion on a real cluster: what runs before and after, and what holds it up."""

from __future__ import annotations

from typing import Any

import pytest

from bus.events import AppDeleted
from tests.flows.agent_fixture import (
    AgentFixture,
    conditions,
    config_map,
    gate,
    open_gate,
)
from tests.flows.agent_process import agent_process, bus_of
from tests.flows.evidence import a_fact
from tests.flows.test_kill_hops import dying
from tests.flows.test_sync_hooks import ENDLESS, annotated, failing, job
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
CASCADE = "resources-finalizer.argocd.argoproj.io"
PRE = "pre-delete-finalizer.argocd.argoproj.io"
POST = "post-delete-finalizer.argocd.argoproj.io"
LAST = 'playground/slow: "3s"'


def finalizers(app: dict[str, Any]) -> list[str]:
    return list(app["metadata"].get("finalizers", []))


async def is_deleted(agent: AgentFixture) -> bool:
    return agent.known("web") is None


async def test_hooks_run_before_and_after_the_objects_are_deleted(agent: AgentFixture) -> None:
    agent.commit(
        {
            "web/a.yaml": config_map("a"),
            "web/b.yaml": annotated(gate("before"), hook="PreDelete"),
            "web/c.yaml": annotated(
                gate("after"), hook="PostDelete", hook_delete_policy="HookSucceeded"
            ),
            "web/d.yaml": annotated(config_map("both"), hook="PreSync,PostDelete"),
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [CASCADE]})
    await agent.until_synced("web")
    app = await agent.until(lambda app: POST in finalizers(app), app="web")
    assert set(finalizers(app)) == {CASCADE, PRE, f"{PRE}/cleanup", POST, f"{POST}/cleanup"}
    assert conditions(app) == {}
    assert await agent.get("services/before") is None

    await agent.delete_app("web")
    await eventually(lambda: is_there(agent, "services/before"))
    assert await agent.get("configmaps/a") is not None
    await open_gate(agent, "before")
    await eventually(lambda: is_there(agent, "services/after"))
    assert await agent.get("configmaps/a") is None
    await open_gate(agent, "after")
    await eventually(lambda: is_deleted(agent))
    await agent.until_gone("services/after")
    for left in ("services/before", "configmaps/both"):
        live = await agent.get(left)
        assert live is not None
        assert not live["metadata"].get("finalizers")


async def is_there(agent: AgentFixture, path: str) -> bool:
    return await agent.get(path) is not None


async def test_without_a_cascade_hooks_run_all_the_same_and_go_when_git_drops_them(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": job("before", hook="PreDelete")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until(lambda app: PRE in finalizers(app), app="web")
    agent.commit({"web/b.yaml": None})
    await agent.until(lambda app: not finalizers(app), app="web")
    after = annotated(config_map("after-"), hook="PostDelete").replace(" name:", " generateName:")
    agent.commit({"web/b.yaml": after})
    await agent.until(lambda app: POST in finalizers(app), app="web")
    await agent.delete_app("web")
    await eventually(lambda: is_deleted(agent))
    assert await agent.get("configmaps/a") is not None
    found = await agent.api.get(f"/api/v1/namespaces/{agent.destination}/configmaps")
    names = [one["metadata"]["name"] for one in found["items"]]
    assert len([name for name in names if name.startswith("after-")]) == 1


async def test_a_failing_hook_holds_the_deletion_up_until_a_person_acts(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": failing("before", hook="PreDelete")})
    await agent.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [CASCADE]})
    await agent.until_synced("web")
    await agent.delete_app("web")
    app = await agent.until(lambda app: "DeletionError" in conditions(app), app="web")
    message = conditions(app)["DeletionError"]
    assert "PreDelete hook Job before failed" in message
    assert f"remove the finalizer {PRE}" in message
    assert await agent.get("configmaps/a") is not None
    left = [one for one in finalizers(app) if one != PRE]
    await agent.patch_app("web", {"metadata": {"finalizers": left}})
    await eventually(lambda: is_deleted(agent))
    await agent.until_gone("configmaps/a")


async def test_a_running_hook_of_a_sync_does_not_hold_up_the_deletion(agent: AgentFixture) -> None:
    agent.commit(
        {"web/a.yaml": config_map("a"), "web/b.yaml": job("long", label=ENDLESS, hook="PreSync")}
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [CASCADE]})
    await eventually(lambda: is_there(agent, "batch/v1/jobs/long"))
    await agent.delete_app("web")
    await eventually(lambda: is_deleted(agent))
    await agent.until_gone("batch/v1/jobs/long")


@pytest.mark.parametrize("place", ["after:apply", "after:delete"])
async def test_hooks_of_a_deletion_run_once_although_the_agent_is_killed(
    stopped_agent: AgentFixture, place: str
) -> None:
    agent = stopped_agent
    agent.commit(
        {"web/a.yaml": config_map("a"), "web/b.yaml": job("before", label=LAST, hook="PreDelete")}
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [CASCADE]})
    async with agent_process(agent, "first"):
        await agent.until_synced("web")
    await agent.delete_app("web")
    await dying(agent, place).until_killed()
    before = await agent.get("batch/v1/jobs/before")
    assert before is not None
    async with agent_process(agent), bus_of(agent.settings) as bus:
        await a_fact(bus, AppDeleted)
    after = await agent.get("batch/v1/jobs/before")
    assert after is not None
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    await agent.until_gone("configmaps/a")
