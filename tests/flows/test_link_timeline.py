"""The timeline at the service, of facts as a real agent tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.flows.house import House, config_map
from tests.flows.linked import Linked, linked_house
from tests.support import eventually

pytestmark = pytest.mark.flow

HOPS = {"manifests.rendered.v1", "app.compared.v1", "operation.finished.v1", "health.assessed.v1"}


@pytest.fixture
async def linked(quiet_house: House, database_url: str, tmp_path: Path) -> AsyncIterator[Linked]:
    async with linked_house(quiet_house, database_url, tmp_path) as linked:
        yield linked


async def types(linked: Linked, query: str = "") -> set[str]:
    return {it["type"] for it in await linked.admin.items(f"/timeline?limit=500{query}")}


async def test_every_type_that_is_told_is_found_by_its_name(linked: Linked) -> None:
    house, admin = linked.house, linked.admin
    house.commit({"web/config.yaml": config_map("web", a="1")})
    await house.apply_app("web", "web", syncPolicy={"automated": {}})
    await house.until_synced("web")

    async def told() -> bool:
        return await types(linked) >= HOPS

    await eventually(told, what="the facts of a delivery")
    for one in await types(linked):
        assert await types(linked, f"&type={one}") == {one}
        assert await types(linked, f"&type=fact.{one}") == {one}
    both = "app.compared.v1,operation.finished.v1"
    assert await types(linked, f"&type={both}") == set(both.split(","))
    assert await types(linked, "&type=nothing.of.the.kind.v1") == set()
    (app,) = await admin.items("/applications")
    mine = await admin.items(f"/applications/{app['id']}/timeline?type=operation.finished.v1")
    assert {it["subject"] for it in mine} == {f"{house.namespace}/web"}


async def test_a_push_is_told_from_its_commit_to_the_end(linked: Linked) -> None:
    house, admin = linked.house, linked.admin
    house.commit({"web/config.yaml": config_map("web", a="1")})
    await house.apply_app("web", "web", syncPolicy={"automated": {}})
    await house.until_synced("web")
    (app,) = await eventually(lambda: admin.items("/applications"), what="the application")
    commit = house.commit({"web/config.yaml": config_map("web", a="2")})
    await admin.order("POST", f"/applications/{app['id']}/refresh", {})

    async def ended() -> bool:
        pushes = await admin.items(f"/applications/{app['id']}/pushes")
        return any(it["commit"]["id"] == commit and _is_whole(it["hops"]) for it in pushes)

    await eventually(ended, what="the way of the push")


def _is_whole(hops: list[dict[str, object]]) -> bool:
    wanted = {"revision.resolved.v1", "manifests.rendered.v1", "operation.finished.v1"}
    return wanted <= {str(hop["name"]) for hop in hops}
