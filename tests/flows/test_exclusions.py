"""Kinds that Argo CD's settings exclude are left alone, from the moment they say so."""

from __future__ import annotations

import pytest

from tests.flows.house import House, conditions, config_map, is_synced
from tests.support import eventually

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
EXCLUDED = "- apiGroups: ['']\n  kinds: [Service]\n"
SETTINGS = "/api/v1/namespaces/{}/configmaps/argocd-cm"


async def put_settings(house: House, **data: str) -> None:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "argocd-cm", "namespace": house.namespace},
        "data": {key.replace("_", "."): value for key, value in data.items()},
    }
    await house.api.apply(SETTINGS.format(house.namespace), body)


async def test_an_excluded_kind_is_neither_compared_applied_nor_pruned(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a"), "web/web.yaml": SERVICE})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")

    await put_settings(house, resource_exclusions=EXCLUDED)
    app = await house.until(lambda app: "ExcludedResourceWarning" in conditions(app), app="web")
    assert "Service web" in conditions(app)["ExcludedResourceWarning"]
    sha = house.commit({"web/web.yaml": None, "web/b.yaml": config_map("b")})
    await house.until(
        lambda app: is_synced(app) and app["status"]["sync"]["revision"] == sha, app="web"
    )
    assert await house.get("services/web") is not None

    await put_settings(house, resource_exclusions="")

    async def pruned() -> bool:
        return await house.get("services/web") is None

    await eventually(pruned, within=40)


async def test_an_installation_id_holds_automated_syncs(house: House) -> None:
    await put_settings(house, installationID="one")
    house.commit({"web/a.yaml": config_map("a")})
    await house.apply_app("web", "web", syncPolicy=HEALING)

    app = await house.until(lambda app: "AutoSyncHeldWarning" in conditions(app), app="web")

    assert "installationID" in conditions(app)["AutoSyncHeldWarning"]
    assert await house.get("configmaps/a") is None
