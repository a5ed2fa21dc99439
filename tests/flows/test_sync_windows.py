"""Sync windows of an AppProject on a real cluster: what they hold back, and when it goes on."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.flows.agent_fixture import AgentFixture, conditions, config_map

ALWAYS = {"schedule": "* * * * *", "duration": "1h", "applications": ["*"]}
DENY = ALWAYS | {"kind": "deny"}
AUTOMATED = {"automated": {"selfHeal": True}}


async def put_project(agent: AgentFixture, *windows: dict[str, Any]) -> None:
    """Make or change the project `frozen`, which permits everything but what windows forbid."""
    spec = {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        "syncWindows": list(windows),
    }
    await agent.apply_project("frozen", spec)


def is_out_of_sync(app: dict[str, Any]) -> bool:
    return bool(app.get("status", {}).get("sync", {}).get("status") == "OutOfSync")


def operation_of(app: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = app.get("status", {}).get("operationState") or {}
    return found


async def test_a_window_holds_syncs_by_hand_too_unless_it_lets_them_through(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    await put_project(agent, DENY | {"description": "release freeze"})
    await agent.apply_app("web", "web", project="frozen", syncPolicy=AUTOMATED)
    await agent.until(is_out_of_sync, app="web")

    await agent.patch_app("web", {"operation": {"sync": {}}})
    app = await agent.until(lambda app: bool(operation_of(app)), app="web")
    assert operation_of(app)["phase"] == "Error"
    assert "release freeze" in operation_of(app)["message"]
    assert await agent.get("configmaps/a") is None

    await put_project(agent, DENY | {"manualSync": True})
    await agent.patch_app("web", {"operation": {"sync": {}}})
    await agent.until_synced("web")


async def test_what_a_window_held_is_synced_when_the_window_is_gone(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    await put_project(agent, DENY)
    await agent.apply_app("web", "web", project="frozen", syncPolicy=AUTOMATED)
    app = await agent.until(is_out_of_sync, app="web")
    assert operation_of(app) == {}
    assert "deny * * * * * for 1 h (UTC)" in conditions(app)["SyncWindowWarning"]

    await put_project(agent)
    app = await agent.until_synced("web")
    assert "SyncWindowWarning" not in conditions(app)


async def test_a_window_that_cannot_be_read_lets_nothing_through(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    await put_project(agent, DENY | {"timeZone": "Atlantis", "manualSync": True})
    await agent.apply_app("web", "web", project="frozen", syncPolicy=AUTOMATED)
    await agent.until(is_out_of_sync, app="web")
    await agent.patch_app("web", {"operation": {"sync": {}}})
    app = await agent.until(lambda app: bool(operation_of(app)), app="web")
    assert "spec.syncWindows[0].timeZone is 'Atlantis'" in operation_of(app)["message"]


async def test_a_requested_automated_sync_waits_for_its_window(agent: AgentFixture) -> None:
    """As a rolling ApplicationSet asks for one: it neither fails nor is lost."""
    agent.commit({"web/a.yaml": config_map("a")})
    await put_project(agent, DENY)
    await agent.apply_app("web", "web", project="frozen")
    await agent.until(is_out_of_sync, app="web")
    asked = {"sync": {}, "initiatedBy": {"automated": True}}
    await agent.patch_app("web", {"operation": asked})
    app = await agent.until(lambda app: bool(operation_of(app)), app="web")
    assert operation_of(app)["phase"] == "Running"
    assert "blocked by sync window" in operation_of(app)["message"]
    assert await agent.get("configmaps/a") is None

    await put_project(agent)
    app = await agent.until_synced("web")
    assert operation_of(app)["phase"] == "Succeeded"


@pytest.mark.timeout(400)
async def test_a_sync_starts_when_its_window_opens(agent: AgentFixture) -> None:
    """A schedule knows no seconds, so this waits for a minute to begin."""
    agent.commit({"web/a.yaml": config_map("a")})
    opens = (datetime.now(UTC) + timedelta(seconds=90)).replace(second=0, microsecond=0)
    window = {
        "kind": "allow",
        "schedule": f"{opens.minute} {opens.hour} * * *",
        "duration": "1h",
        "applications": ["*"],
    }
    await put_project(agent, window)
    await agent.apply_app("web", "web", project="frozen", syncPolicy=AUTOMATED)
    await agent.until(is_out_of_sync, app="web")
    assert await agent.get("configmaps/a") is None
    app = await agent.until_synced("web", within=240)
    assert operation_of(app)["startedAt"] >= opens.strftime("%Y-%m-%dT%H:%M:%SZ")
