"""Who acts and who may: leadership by Lease, and the API server's own word on rights."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from structlog.testing import capture_logs

from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import connect
from agent.kube.errors import ForbiddenError
from agent.kube.kube_request import RequestSeen
from agent.kube.rights import Right, missing, who_am_i
from handlers.ports import ApplyOptions
from playground.kubernetes import ControlPlane
from playground.rights import until_permitted, user_of
from tests.unit.agent.kube.contender import contending
from tests.unit.agent.kube.kube_fixture import following, opened, until


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    connection = await connect(control_plane.kubeconfig)
    async with kube_client(connection) as client:
        yield client


async def test_one_acts_and_the_other_waits_and_says_so(client: KubeClient, namespace: str) -> None:
    async with contending(client, namespace, "one") as one:
        await until(one.acting.is_set)
        with capture_logs() as logs:
            async with contending(client, namespace, "other") as other:
                await until(lambda: any("waiting" in it["event"] for it in logs))
                assert not other.acting.is_set()
                assert not other.fence.is_open
                await until(lambda: one.fence.is_open)

    (logged,) = [it for it in logs if "waiting" in it["event"]]
    assert logged["holder"] == "one"


async def test_a_released_lease_is_taken_over(client: KubeClient, namespace: str) -> None:
    async with (
        contending(client, namespace, "one") as one,
    ):
        await until(one.acting.is_set)
        async with contending(client, namespace, "other") as other:
            one.stop.set()
            await until(other.acting.is_set)

            assert not one.acting.is_set()
            assert one.ended == ""


async def test_a_lease_whose_holder_died_expires(client: KubeClient, namespace: str) -> None:
    """The dead one's clock was an hour ahead: nobody compares it with ours."""
    spec = {
        "holderIdentity": "dead",
        "leaseDurationSeconds": 1,
        "renewTime": "2999-01-01T00:00:00.000000Z",
    }
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
    body = msgspec.json.encode({**lease, "metadata": {"name": "agent", "namespace": namespace}})
    await client.create(path, body)

    async with contending(client, namespace, "heir") as heir:
        await until(heir.acting.is_set)

    found = msgspec.json.decode(await client.get(f"{path}/agent"))
    assert found["spec"]["leaseTransitions"] == 1


async def test_a_held_lease_is_renewed_without_a_look(
    control_plane: ControlPlane, namespace: str
) -> None:
    """One request a renewal, which is all that an idle agent asks of the API server."""
    asked: list[RequestSeen] = []
    connection = await connect(control_plane.kubeconfig)
    async with (
        kube_client(connection, observe=asked.append) as client,
        contending(client, namespace, "one", duration=9.0) as one,
    ):
        await until(one.acting.is_set)
        asked.clear()
        await until(lambda: len(asked) > 2)
    renewals = [it.verb for it in asked[:3]]
    assert renewals == ["update"] * 3


async def test_who_loses_the_lease_is_stopped(client: KubeClient, namespace: str) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/agent"
    async with contending(client, namespace, "one") as one:
        await until(one.acting.is_set)

        usurped = {"spec": {"holderIdentity": "usurper", "leaseDurationSeconds": 60}}
        await client.merge_patch(path, usurped)

        await until(lambda: one.ended == "usurper leads now")
        assert not one.acting.is_set()
        assert not one.fence.is_open


async def test_rights_are_the_api_servers_own_word(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    kubeconfig = await limited(control_plane, namespace, tmp_path)
    read = Right(verb="list", resource="configmaps", namespace=namespace)
    write = Right(verb="patch", resource="deployments", group="apps", namespace=namespace)

    async with kube_client(await connect(kubeconfig)) as client:
        assert await who_am_i(client) == f"system:serviceaccount:{namespace}:limited"
        assert await missing(client, [read, write]) == (write,)
    assert str(write) == f"patch deployments.apps in namespace {namespace}"


async def test_a_kind_we_may_not_list_is_skipped_with_one_warning(
    control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    kubeconfig = await limited(control_plane, namespace, tmp_path)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "key", "namespace": namespace},
        "stringData": {"token": "hunter2"},
    }
    with capture_logs() as logs:
        async with opened(kubeconfig, namespaces=(namespace,)) as agent, following(agent):
            index = agent.live.index  # a controller makes the ConfigMap of each namespace
            await until(lambda: bool(index.of_kind("", "ConfigMap")))
            maps = [it.key.name for it in index.of_kind("", "ConfigMap")]
            assert maps == ["kube-root-ca.crt"]
            assert "/Secret" in agent.live.unlisted()
            with pytest.raises(ForbiddenError) as refused:
                await agent.cluster.apply(secret, ApplyOptions())

    assert refused.value.permanent
    (warned,) = [it for it in logs if it.get("kind") == "Secret"]
    assert 'cannot list resource "secrets"' in warned["cause"]
    assert "hunter2" not in str(logs) + refused.value.message


async def limited(control_plane: ControlPlane, namespace: str, folder: Path) -> Path:
    """A kubeconfig of a ServiceAccount that may list and watch ConfigMaps, and no more."""
    rbac = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}"
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}
    subject = {"kind": "ServiceAccount", "name": "limited", "namespace": namespace}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "limited"}
    named = {"metadata": {"name": "limited"}}
    async with control_plane.api() as api:
        await api.create(accounts, named)
        await api.create(f"{rbac}/roles", {**named, "rules": [rule]})
        await api.create(f"{rbac}/rolebindings", {**named, "subjects": [subject], "roleRef": role})
        await until_permitted(api, user_of(namespace, "limited"), rule, namespace)
        answer = await api.create(f"{accounts}/limited/token", {"spec": {}})
    token = answer["status"]["token"]
    access = msgspec.structs.replace(control_plane.access, token=token)
    return access.write_kubeconfig(folder / "limited.kubeconfig")
