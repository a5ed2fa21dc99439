"""What an AppProject forbids does not happen, and the Application says which rule it was."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.house import SERVER, House, conditions, config_map

pytestmark = pytest.mark.flow

REFRESH = "argocd.argoproj.io/refresh"
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
    await limit(house)
    await house.patch_app("web", {"metadata": {"annotations": {REFRESH: "normal"}}})
    assert conditions(await house.until_synced("web")) == {}


async def test_a_kind_that_the_project_denies_is_neither_applied_nor_anything_beside_it(
    house: House,
) -> None:
    await limit(house, namespaceResourceBlacklist=[{"group": "", "kind": "Secret"}])
    house.commit({"web/a.yaml": config_map("a"), "web/s.yaml": SECRET})
    once = {**AUTOMATED, "retry": {"limit": 0}}
    await house.apply_app("web", "web", project="limited", syncPolicy=once)
    app = await house.until(conditions, app="web")
    assert "Secret is not permitted here" in conditions(app)["SyncError"]
    assert app["status"]["operationState"]["phase"] == "Failed"
    assert await house.get("configmaps/a") is None
    assert await house.get("secrets/s") is None
