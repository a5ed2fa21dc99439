"""What the service shows of a connection is what its last use said: both ends are real."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from playground.githost import HostLogin
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.support import eventually

TYPE = "argocd.argoproj.io/secret-type"


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


async def secret(linked_agent: LinkedAgent, name: str, kind: str, /, **data: str) -> None:
    metadata = {"name": name, "labels": {TYPE: kind}}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": data}
    path = f"/api/v1/namespaces/{linked_agent.agent.namespace}/secrets/{name}"
    await linked_agent.agent.api.apply(path, body)


async def until(linked_agent: LinkedAgent, noun: str, status: str) -> dict[str, Any]:
    """The one connection of the noun, when it stands so."""
    found: list[dict[str, Any]] = []

    async def seen() -> bool:
        found[:] = await linked_agent.admin.items(f"/{noun}")
        return [one["status"] for one in found] == [status]

    await eventually(seen, within=120, what=f"{noun} {status!r}")
    return found[0]


@pytest.mark.parametrize(
    ("noun", "kind"),
    [("repositories", "repository"), ("repository-credentials", "repo-creds")],
)
async def test_the_last_fetch_is_told_of_what_it_was_done_with(
    linked_agent: LinkedAgent, noun: str, kind: str
) -> None:
    agent = linked_agent.agent
    repository = agent.repository
    agent.commit({"web/web.yaml": config_map("web")})
    repository.login = HostLogin(user="bob", password="right-password")
    login = {"url": repository.url, "username": "bob"}
    await secret(linked_agent, "shop", kind, password="wrong-password", **login)
    assert (await until(linked_agent, noun, ""))["attemptedAt"] == ""
    await agent.apply_app("web", "web")
    failed = await until(linked_agent, noun, "Failed")
    await secret(linked_agent, "shop", kind, password="right-password", **login)
    worked = await until(linked_agent, noun, "Successful")
    assert "refused this login" in failed["message"]
    assert "wrong-password" not in failed["message"]
    assert worked["message"] == ""
    assert worked["attemptedAt"] > failed["attemptedAt"] > ""


async def test_a_secret_that_cannot_be_used_has_failed_before_its_first_use(
    linked_agent: LinkedAgent,
) -> None:
    await secret(linked_agent, "shop", "repository", url="https://git.example//x", username="bob")
    failed = await until(linked_agent, "repositories", "Failed")
    assert "empty segment" in failed["message"]


async def test_our_own_cluster_is_as_our_api_server_is(linked_agent: LinkedAgent) -> None:
    server = "https://kubernetes.default.svc:443/"
    await secret(linked_agent, "here", "cluster", server=server, name="here", config="{}")
    await until(linked_agent, "clusters", "Successful")


async def test_our_own_cluster_is_listed_also_where_no_secret_describes_it(
    linked_agent: LinkedAgent,
) -> None:
    found = await until(linked_agent, "clusters", "Successful")
    assert found["name"] == "in-cluster"
    await secret(
        linked_agent, "here", "cluster", server="https://kubernetes.default.svc", name="here"
    )
    await until_clusters(linked_agent, "here")
    path = f"/api/v1/namespaces/{linked_agent.agent.namespace}/secrets/here"
    await linked_agent.agent.api.delete(path)
    await until_clusters(linked_agent, "in-cluster")


async def until_clusters(linked_agent: LinkedAgent, *names: str) -> None:
    async def listed() -> bool:
        return [one["name"] for one in await linked_agent.admin.items("/clusters")] == list(names)

    await eventually(listed, within=120, what=f"clusters {names}")
