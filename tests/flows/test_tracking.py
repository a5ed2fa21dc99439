"""The tracking method is changed while applications run, and nothing of theirs is lost by it."""

from __future__ import annotations

from typing import Any

from handlers.manifest.tracking import TRACKING_ID
from handlers.manifest.tracking_method import INSTALLATION_ID, INSTANCE_LABEL
from tests.flows.agent_fixture import AgentFixture, config_map, is_synced
from tests.flows.test_exclusions import put_settings
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}


async def test_objects_keep_their_application_while_the_method_changes(agent: AgentFixture) -> None:
    agent.commit({f"web/{name}.yaml": config_map(name) for name in "ab"})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    first = await _metadata(agent)
    assert TRACKING_ID in first["annotations"]

    await put_settings(agent, application_resourceTrackingMethod="label")
    await eventually(lambda: _is_written(agent, "a", "b", label=True, note=False), within=120)
    await agent.until_synced("web")
    # An object of the new method that Git drops is pruned, and the other stays the same object.
    sha = agent.commit({"web/b.yaml": None})
    await agent.until(
        lambda app: is_synced(app) and app["status"]["sync"]["revision"] == sha, app="web"
    )
    await agent.until_gone("configmaps/b")
    assert (await _metadata(agent))["uid"] == first["uid"]

    await put_settings(
        agent, application_resourceTrackingMethod="annotation+label", installationID="one"
    )
    await eventually(lambda: _is_written(agent, "a", label=True, note=True), within=120)
    last = await _metadata(agent)
    assert last["annotations"][INSTALLATION_ID] == "one"
    assert last["uid"] == first["uid"]


async def _metadata(agent: AgentFixture, name: str = "a") -> dict[str, Any]:
    found = await agent.get(f"configmaps/{name}")
    assert found is not None
    metadata: dict[str, Any] = found["metadata"]
    return metadata


async def _is_written(agent: AgentFixture, *names: str, label: bool, note: bool) -> bool:
    """Whether every object carries just these marks."""
    for name in names:
        metadata = await _metadata(agent, name)
        has_label = metadata.get("labels", {}).get(INSTANCE_LABEL) == "web"
        has_note = TRACKING_ID in metadata.get("annotations", {})
        if (has_label, has_note) != (label, note):
            return False
    return True
