"""An AppProject made, read, changed and deleted at the service, by its agent in its cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from playground.kubeapi import KubeApiError
from service.store.tables import agents
from tests.flows.house import House, config_map
from tests.flows.linked import Linked, linked_house
from tests.support import eventually

pytestmark = pytest.mark.flow

SPEC = {"description": "the shop's", "sourceRepos": ["*"], "destinations": []}


@pytest.fixture
async def linked(quiet_house: House, database_url: str, tmp_path: Path) -> AsyncIterator[Linked]:
    async with linked_house(quiet_house, database_url, tmp_path) as linked:
        yield linked


def path(house: House, name: str = "shop") -> str:
    return f"/apis/argoproj.io/v1alpha1/namespaces/{house.namespace}/appprojects/{name}"


def manifest(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "shop"}, "spec": {**SPEC, **spec}}


async def create(linked: Linked) -> dict[str, Any]:
    """Its row at the service."""
    agent = (await linked.world.rows(agents))[0].id
    made = await linked.admin.order(
        "POST", "/appprojects", {"agent": agent, "manifest": manifest()}
    )
    assert made["phase"] == "succeeded", made
    return await shown(linked, "the shop's")


async def shown(linked: Linked, description: str) -> dict[str, Any]:
    async def there() -> Any:
        found = await linked.admin.items("/appprojects?search=shop")
        return [it for it in found if it["description"] == description]

    found: list[dict[str, Any]] = await eventually(there, what=f"project with {description!r}")
    one: dict[str, Any] = await linked.admin.call("GET", f"/appprojects/{found[0]['id']}")
    return one


async def test_a_project_is_made_changed_and_deleted_and_what_was_not_shown_stays(
    linked: Linked,
) -> None:
    house, admin = linked.house, linked.admin
    project = await create(linked)
    hidden = {"permitOnlyProjectScopedClusters": True}
    await house.api.patch(path(house), {"spec": {**hidden, "description": "by hand"}})
    project = await shown(linked, "by hand")
    one = f"/appprojects/{project['id']}"
    body = {"manifest": manifest(**{**project["spec"], "description": "changed"})}
    put = await admin.order("PUT", one, body, {"If-Match": project["version"]})
    assert put["phase"] == "succeeded", put
    live = await house.api.get(path(house))
    assert live["spec"] == {**SPEC, **hidden, "description": "changed"}
    await shown(linked, "changed")
    gone = await admin.order("DELETE", one)
    assert gone["phase"] == "succeeded", gone
    with pytest.raises(KubeApiError):
        await house.api.get(path(house))
    await eventually(lambda: is_gone(linked), what="no project shop")


async def is_gone(linked: Linked) -> bool:
    return await linked.admin.items("/appprojects?search=shop") == []


async def test_a_project_that_exists_is_not_made_again(linked: Linked) -> None:
    await create(linked)
    agent = (await linked.world.rows(agents))[0].id
    body = {"agent": agent, "manifest": manifest(description="another")}
    again = await linked.admin.order("POST", "/appprojects", body)
    assert (again["phase"], again["code"]) == ("failed", "conflict")
    assert (await linked.house.api.get(path(linked.house)))["spec"] == SPEC


async def test_a_project_with_applications_and_the_default_one_are_not_deleted(
    linked: Linked,
) -> None:
    house, admin = linked.house, linked.admin
    project = await create(linked)
    house.commit({"web/config.yaml": config_map("web", a="1")})
    await house.apply_app("web", "web", project="shop")
    await eventually(lambda: is_used(linked), what="an application of the project")
    refused = await admin.order("DELETE", f"/appprojects/{project['id']}")
    assert (refused["phase"], refused["code"]) == ("failed", "conflict")
    assert f"{house.namespace}/web" in refused["message"]
    await house.api.create(
        path(house).rpartition("/")[0],
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "default"},
            "spec": SPEC,
        },
    )
    (default,) = await eventually(lambda: named(linked, "default"), what="the project default")
    refused = await admin.order("DELETE", f"/appprojects/{default['id']}")
    assert (refused["phase"], refused["code"]) == ("failed", "not_allowed")


async def is_used(linked: Linked) -> bool:
    found = await linked.admin.items("/appprojects?search=shop")
    return bool(found and found[0]["applications"] == 1)


async def named(linked: Linked, name: str) -> list[dict[str, Any]]:
    return [it for it in await linked.admin.items("/appprojects") if it["name"] == name]
