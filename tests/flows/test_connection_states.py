"""What the service shows of a connection is what its last use said: both ends are real."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from playground.githost import Login
from tests.flows.house import House, config_map
from tests.flows.linked import Linked, linked_house
from tests.support import eventually

pytestmark = pytest.mark.flow

TYPE = "argocd.argoproj.io/secret-type"


@pytest.fixture
async def linked(quiet_house: House, database_url: str, tmp_path: Path) -> AsyncIterator[Linked]:
    async with linked_house(quiet_house, database_url, tmp_path) as linked:
        yield linked


async def secret(linked: Linked, name: str, kind: str, /, **data: str) -> None:
    metadata = {"name": name, "labels": {TYPE: kind}}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    path = f"/api/v1/namespaces/{linked.house.namespace}/secrets/{name}"
    await linked.house.api.apply(path, body)


async def until(linked: Linked, noun: str, status: str) -> dict[str, Any]:
    """The one connection of the noun, when it stands so."""
    found: list[dict[str, Any]] = []

    async def seen() -> bool:
        found[:] = await linked.admin.items(f"/{noun}")
        return [one["status"] for one in found] == [status]

    await eventually(seen, within=40, what=f"{noun} {status!r}")
    return found[0]


@pytest.mark.parametrize(
    ("noun", "kind"),
    [("repositories", "repository"), ("repository-credentials", "repo-creds")],
)
async def test_the_last_fetch_is_told_of_what_it_was_done_with(
    linked: Linked, noun: str, kind: str
) -> None:
    house = linked.house
    repository = house.repository
    house.commit({"web/web.yaml": config_map("web")})
    repository.login = Login(user="bob", password="right-password")
    login = {"url": repository.url, "username": "bob"}
    await secret(linked, "shop", kind, password="wrong-password", **login)
    assert (await until(linked, noun, ""))["attemptedAt"] == ""
    await house.apply_app("web", "web")
    failed = await until(linked, noun, "Failed")
    await secret(linked, "shop", kind, password="right-password", **login)
    worked = await until(linked, noun, "Successful")
    assert "refused this login" in failed["message"]
    assert "wrong-password" not in failed["message"]
    assert worked["message"] == ""
    assert worked["attemptedAt"] > failed["attemptedAt"] > ""


async def test_a_secret_that_cannot_be_used_has_failed_before_its_first_use(
    linked: Linked,
) -> None:
    await secret(linked, "shop", "repository", url="https://git.example//x", username="bob")
    failed = await until(linked, "repositories", "Failed")
    assert "empty segment" in failed["message"]


async def test_our_own_cluster_is_as_our_api_server_is(linked: Linked) -> None:
    server = "https://kubernetes.default.svc:443/"
    await secret(linked, "here", "cluster", server=server, name="here", config="{}")
    await until(linked, "clusters", "Successful")
