"""Secrets that the agent makes: once, the same for all replicas, mended where a part is missing."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator

import pytest
import structlog

from agent.agent_secrets import AGENT_KEYS, SERVER_PART, AgentSecretError, AgentSecrets
from agent.kube.client import kube_client
from agent.kube.connection_config import connect
from bus.logins import BusLogin
from bus.subjects import AgentScope
from playground.kubeapi import KubeApi
from playground.kubernetes import ControlPlane

SCOPE = AgentScope("acme", "prod1")


@pytest.fixture
async def own(control_plane: ControlPlane, namespace: str) -> AsyncIterator[AgentSecrets]:
    async with kube_client(await connect(control_plane.kubeconfig)) as client:
        yield AgentSecrets(client=client, namespace=namespace)


@pytest.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[KubeApi]:
    async with control_plane.api() as api:
        yield api


def path_of(own: AgentSecrets, name: str) -> str:
    return f"/api/v1/namespaces/{own.namespace}/secrets/{name}"


async def test_replicas_that_start_at_once_have_the_same_keys_and_logins(own: AgentSecrets) -> None:
    keys = await asyncio.gather(*(own.agent_keys() for _ in range(5)))
    logins = await asyncio.gather(*(own.nats_logins("logins", SCOPE) for _ in range(5)))
    assert len({(one.commands, one.artifacts) for one in keys}) == 1
    assert len({tuple(sorted(one.items())) for one in logins}) == 1
    assert set(logins[0]) == set(BusLogin)


async def test_subscribers_have_a_secret_of_their_own_and_the_server_no_seed(
    own: AgentSecrets, api: KubeApi
) -> None:
    seeds = await own.nats_logins("logins", SCOPE)
    reader = (await api.get(path_of(own, "logins-subscriber")))["data"]
    server = base64.b64decode((await api.get(path_of(own, "logins")))["data"][SERVER_PART]).decode()
    assert reader.keys() == {"subscriber.nk"}
    assert base64.b64decode(reader["subscriber.nk"]).decode() == seeds[BusLogin.SUBSCRIBER]
    assert not any(seed in server for seed in seeds.values())
    assert f"$JS.API.DIRECT.GET.{SCOPE.name('FACT')}" in server


async def test_what_an_older_version_left_is_completed_and_keeps_its_keys(
    own: AgentSecrets, api: KubeApi
) -> None:
    first = await own.agent_keys()
    seeds = await own.nats_logins("logins", SCOPE)
    await api.patch(path_of(own, AGENT_KEYS), {"data": {"artifacts": None}})
    older = base64.b64encode(b"authorization: {}").decode()
    await api.patch(path_of(own, "logins"), {"data": {SERVER_PART: older}})
    again = await own.agent_keys()
    assert again.commands == first.commands
    assert again.artifacts != first.artifacts
    assert await own.nats_logins("logins", SCOPE) == seeds
    server = base64.b64decode((await api.get(path_of(own, "logins")))["data"][SERVER_PART]).decode()
    assert "permissions" in server


async def test_the_password_of_redis_is_the_one_that_its_server_reads(
    own: AgentSecrets, api: KubeApi
) -> None:
    password = await own.redis_password("redis-password")
    assert await own.redis_password("redis-password") == password
    data = (await api.get(path_of(own, "redis-password")))["data"]
    assert base64.b64decode(data["redis.conf"]).decode() == f"requirepass {password}\n"


async def test_no_secret_is_said_in_the_log(own: AgentSecrets) -> None:
    with structlog.testing.capture_logs() as log:
        keys = await own.agent_keys()
        seeds = await own.nats_logins("logins", SCOPE)
        password = await own.redis_password("redis-password")
    logged = f"{log} {keys!r}"
    encoded = [base64.b64encode(one).decode() for one in (keys.commands, keys.artifacts)]
    assert not any(one in logged for one in (*seeds.values(), password, *encoded))


async def test_a_secret_with_other_content_is_refused_with_what_to_do(
    own: AgentSecrets, api: KubeApi
) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": AGENT_KEYS},
        "stringData": {"commands": "c2hvcnQ=", "artifacts": "c2hvcnQ="},
    }
    await api.create(f"/api/v1/namespaces/{own.namespace}/secrets", secret)
    with pytest.raises(AgentSecretError, match=r"has 5 bytes, expected 32: delete the Secret"):
        await own.agent_keys()
