"""Certificates, known hosts and public keys: told by the agent, written and deleted by tasks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from playground.kubeapi import KubeApiError
from service.store.tables import agents
from tests.flows.agent_fixture import AgentFixture
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.flows.test_link_service import everything
from tests.support import eventually
from tests.unit.handlers.trust.samples import (
    ED25519,
    ED25519_ID,
    RSA,
    SSH_FINGERPRINT,
    SSH_KEY,
    certificate,
    other_ssh_key,
)

TLS, HOSTS, KEYS = "argocd-tls-certs-cm", "argocd-ssh-known-hosts-cm", "argocd-gpg-keys-cm"
PRIVATE = "-----BEGIN PRIVATE KEY-----\nc4narymaterialofaprivatekey\n-----END PRIVATE KEY-----\n"


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


async def hold(agent: AgentFixture, name: str, data: dict[str, str | None]) -> None:
    """As somebody with kubectl would."""
    path = f"/api/v1/namespaces/{agent.namespace}/configmaps"
    try:
        await agent.api.patch(f"{path}/{name}", {"data": data})
    except KubeApiError:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        await agent.api.create(path, body)


async def held(agent: AgentFixture, name: str) -> dict[str, str]:
    found = await agent.api.get(f"/api/v1/namespaces/{agent.namespace}/configmaps/{name}")
    data: dict[str, str] = found.get("data", {})
    return data


async def listed(linked_agent: LinkedAgent, path: str, count: int) -> list[dict[str, Any]]:
    async def all_there() -> Any:
        found = await linked_agent.admin.items(path)
        return (found,) if len(found) == count else None

    return list((await eventually(all_there, what=f"{count} of {path}"))[0])


async def agent_of(linked_agent: LinkedAgent) -> str:
    return str((await linked_agent.running_service.rows(agents))[0].id)


async def put(linked_agent: LinkedAgent, path: str, **logged: str) -> dict[str, Any]:
    return await linked_agent.admin.order(
        "POST", path, {"agent": await agent_of(linked_agent), **logged}
    )


async def test_what_the_cluster_trusts_is_listed_and_goes_when_it_goes(
    linked_agent: LinkedAgent,
) -> None:
    agent = linked_agent.agent
    await hold(agent, TLS, {"git.example": certificate("git.example")})
    await hold(agent, HOSTS, {"ssh_known_hosts": f"git.example {SSH_KEY}\n"})
    await hold(agent, KEYS, {ED25519_ID: ED25519})
    https, ssh = sorted(await listed(linked_agent, "/certificates", 2), key=lambda it: it["type"])
    assert (https["name"], https["type"], https["info"]) == (
        "git.example",
        "https",
        "CN=git.example",
    )
    assert https["expiresAt"].startswith("2040-")
    assert (ssh["name"], ssh["type"], ssh["subType"]) == ("git.example", "ssh", "ssh-ed25519")
    assert ssh["fingerprint"] == SSH_FINGERPRINT
    (key,) = await listed(linked_agent, "/keys", 1)
    assert (key["name"], key["info"]) == (ED25519_ID, "Release Robot (ed25519)")
    await hold(agent, TLS, {"git.example": None})
    (left,) = await listed(linked_agent, "/certificates", 1)
    assert left["type"] == "ssh"
    for name in (HOSTS, KEYS):
        await agent.api.delete(f"/api/v1/namespaces/{agent.namespace}/configmaps/{name}")
    await listed(linked_agent, "/certificates", 0)
    await listed(linked_agent, "/keys", 0)


async def test_what_went_while_nobody_watched_is_found_gone(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> None:
    await hold(stopped_agent, KEYS, {ED25519_ID: ED25519})
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        await listed(linked_agent, "/keys", 1)
        stopped_agent.agent.stop.set()
        await eventually(lambda: not stopped_agent.agent.acting.is_set())
        await hold(stopped_agent, KEYS, {ED25519_ID: None})
        async with stopped_agent.running():
            await listed(linked_agent, "/keys", 0)


async def test_they_are_put_and_deleted_by_tasks_and_the_others_stay(
    linked_agent: LinkedAgent,
) -> None:
    agent = linked_agent.agent
    await hold(agent, HOSTS, {"ssh_known_hosts": f"# ours\nold.example {SSH_KEY}\n"})
    done = [
        await put(linked_agent, "/certificates", url="https://git.example", text=certificate()),
        await put(
            linked_agent, "/certificates", type="ssh", name="a", text=f"new.example {SSH_KEY}"
        ),
        await put(linked_agent, "/keys", text=ED25519),
    ]
    assert [it["phase"] for it in done] == ["succeeded"] * 3, done
    lines = (await held(agent, HOSTS))["ssh_known_hosts"].splitlines()
    assert lines == ["# ours", f"old.example {SSH_KEY}", f"new.example {SSH_KEY}"]
    assert set(await held(agent, TLS)) == {"git.example"}
    again = await put(
        linked_agent, "/certificates", type="ssh", name="a", text=f"new.example {other_ssh_key()}"
    )
    assert again["phase"] == "succeeded"
    assert (await held(agent, HOSTS))["ssh_known_hosts"].count("new.example") == 1
    found = await listed(linked_agent, "/certificates", 3) + await listed(linked_agent, "/keys", 1)
    for one in found:
        if one["name"] != "old.example":
            path = "keys" if one["name"] == ED25519_ID else "certificates"
            ended = await linked_agent.admin.order("DELETE", f"/{path}/{one['id']}")
            assert ended["phase"] == "succeeded", ended
    (left,) = await listed(linked_agent, "/certificates", 1)
    assert left["name"] == "old.example"
    assert await held(agent, KEYS) == {}
    assert (await held(agent, HOSTS))["ssh_known_hosts"].startswith("# ours\nold.example")


async def test_nothing_private_is_stored_or_told(linked_agent: LinkedAgent) -> None:
    """Neither by a task, nor where somebody put a private key beside the certificates."""
    refused = [
        await put(linked_agent, "/keys", text=ED25519.replace("PUBLIC", "SECRET")),
        await put(linked_agent, "/keys", name=ED25519_ID, text=RSA),
        await put(linked_agent, "/certificates", name="git.example", text="no certificate"),
        await put(linked_agent, "/certificates", type="ssh", name="a", text="git.example nonsense"),
    ]
    assert [it["code"] for it in refused] == ["invalid"] * 4, refused
    await hold(linked_agent.agent, TLS, {"git.example": PRIVATE})
    await hold(linked_agent.agent, KEYS, {ED25519_ID: PRIVATE})
    (certificate_,) = await listed(linked_agent, "/certificates", 1)
    (key,) = await listed(linked_agent, "/keys", 1)
    for one in (certificate_, key):
        assert (one["status"], one["fingerprint"]) == ("Failed", "")
    assert "c4nary" not in await everything(linked_agent.running_service)
