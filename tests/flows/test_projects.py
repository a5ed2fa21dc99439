"""What an AppProject forbids does not happen, and the Application says which rule it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.house import SERVER, House, conditions, config_map

pytestmark = pytest.mark.flow

AUTOMATED = {"automated": {"prune": True}}
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"


async def limit(house: House, **rules: Any) -> None:
    """Make or change the project `limited`."""
    open_ = {"sourceRepos": ["*"], "destinations": [{"server": SERVER, "namespace": "*"}]}
    await house.api.apply(
        f"/apis/argoproj.io/v1alpha1/namespaces/{house.namespace}/appprojects/limited",
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "limited", "namespace": house.namespace},
            "spec": {**open_, **rules},
        },
    )


async def test_a_source_that_the_project_does_not_list_is_refused_until_it_does(
    house: House,
) -> None:
    await limit(house, sourceRepos=["https://git.example/*"])
    house.commit({"web/a.yaml": config_map("a")})
    await house.apply_app("web", "web", project="limited", syncPolicy=AUTOMATED)
    app = await house.until(conditions, app="web")
    assert conditions(app).keys() == {"InvalidSpecError"}
    assert "limited" in conditions(app)["InvalidSpecError"]
    assert await house.get("configmaps/a") is None
    await limit(house)  # nobody asks for anything: the project's change is heard
    assert conditions(await house.until_synced("web")) == {}


async def test_a_kind_that_is_denied_fails_at_once_and_recovers_with_its_project(
    house: House,
) -> None:
    """Nothing beside it is applied either, and no try is wasted on it."""
    await limit(house, namespaceResourceBlacklist=[{"group": "", "kind": "Secret"}])
    house.commit({"web/a.yaml": config_map("a"), "web/s.yaml": SECRET})
    await house.apply_app("web", "web", project="limited", syncPolicy=AUTOMATED)
    app = await house.until(conditions, app="web")
    state = app["status"]["operationState"]
    assert (state["phase"], state.get("retryCount", 0)) == ("Failed", 0)
    said = "remove it from spec.namespaceResourceBlacklist"
    assert said in conditions(app)["SyncError"]
    assert said in state["message"]
    assert await house.get("configmaps/a") is None
    assert await house.get("secrets/s") is None
    await limit(house)
    app = await house.until_synced("web")
    assert conditions(app) == {}
    assert len(app["status"]["history"]) == 1


async def test_a_sync_by_hand_to_a_place_that_is_denied_ends_at_once(house: House) -> None:
    await limit(house, destinations=[{"server": SERVER, "namespace": "elsewhere"}])
    house.commit({"web/a.yaml": config_map("a")})
    await house.apply_app("web", "web", project="limited")
    await house.until(conditions, app="web")
    await house.patch_app("web", {"operation": {"sync": {}, "retry": {"limit": 5}}})
    app = await house.until(has_ended, app="web")
    state = app["status"]["operationState"]
    assert (state["phase"], state.get("retryCount", 0)) == ("Error", 0)
    assert "spec.destinations" in state["message"]


def has_ended(app: dict[str, Any]) -> bool:
    return app["status"].get("operationState", {}).get("phase") in ("Error", "Failed")
