"""The index follows a real cluster: changes by others, lost connections, kinds that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.kube.errors import NestedTooDeeplyError
from agent.kube.health_overrides import HealthOverrides
from agent.kube.list_watch import pages
from agent.kube.live_change import LiveChange
from agent.kube.script_queue import ScriptQueue
from bus.identity import AppKey, ResourceKey
from bus.status import HealthStatus
from handlers.application.health_scripts import read_scripts
from handlers.ports import ApplyOptions
from playground.kubeapi import KubeApi
from playground.kubernetes import ControlPlane
from playground.rights import GrantedRule, RightsAccount, open_account
from sandbox.client import Sandbox, SandboxLimits
from tests.unit.agent.kube.kube_fixture import KubeFixture, following, opened, until


@pytest.fixture
async def agent(control_plane: ControlPlane, namespace: str) -> AsyncIterator[KubeFixture]:
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as agent, following(agent):
        yield agent


@pytest.fixture
async def api(control_plane: ControlPlane) -> AsyncIterator[KubeApi]:
    async with control_plane.api() as api:
        yield api


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def tracked(namespace: str, name: str, **data: str) -> dict[str, Any]:
    tracking = {"argocd.argoproj.io/tracking-id": f"shop:/ConfigMap:{namespace}/{name}"}
    metadata = {"name": name, "namespace": namespace, "annotations": tracking}
    return {**config_map(name, **data), "metadata": metadata}


def key_of(namespace: str, name: str) -> ResourceKey:
    return ResourceKey("", "ConfigMap", namespace, name)


async def test_what_others_do_is_seen(agent: KubeFixture, api: KubeApi, namespace: str) -> None:
    maps, key = f"/api/v1/namespaces/{namespace}/configmaps", key_of(namespace, "one")
    await api.create(maps, config_map("one"))
    await until(lambda: agent.live.get(key) is not None)
    created = agent.version(key)

    await api.patch(f"{maps}/one", {"data": {"colour": "red"}})
    await until(lambda: agent.version(key) != created)

    await api.delete(f"{maps}/one")
    await until(lambda: agent.live.get(key) is None)


async def test_what_found_no_room_for_its_health_script_is_listed_again(
    control_plane: ControlPlane, namespace: str, sandbox_binary: Path
) -> None:
    overrides = HealthOverrides(ScriptQueue(of_one_namespace=6_000), again_seconds=0.0)
    keys = [key_of(namespace, name) for name in ("b", "c")]
    async with (
        opened(control_plane.kubeconfig, namespaces=(namespace,), overrides=overrides) as agent,
        following(agent),
        control_plane.api() as api,
        Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox,
    ):
        root = await agent.cluster.apply(tracked(namespace, "a"), ApplyOptions())
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": root.uid}
        for key in keys:
            body = config_map(key.name, large="x" * 4_000)
            owned = {**body, "metadata": {"name": key.name, "ownerReferences": [owner]}}
            await api.create(f"/api/v1/namespaces/{namespace}/configmaps", owned)
        await until(lambda: all(agent.live.get(key) is not None for key in keys))

        def count(status: HealthStatus) -> int:
            return sum(
                one is not None and one.health is status for one in map(agent.live.get, keys)
            )

        script = {"resource.customizations.health.ConfigMap": 'return {status="Degraded"}'}
        overrides.use(read_scripts(script))
        await until(lambda: count(HealthStatus.UNKNOWN) == 1)
        running = asyncio.create_task(overrides.run(sandbox), name="health scripts")
        await until(lambda: count(HealthStatus.DEGRADED) == 2)
        running.cancel()
        await asyncio.wait([running])


async def test_an_edit_by_hand_is_told_and_our_own_apply_is_not(
    agent: KubeFixture, api: KubeApi, namespace: str
) -> None:
    ours = await agent.cluster.apply(tracked(namespace, "ours", colour="blue"), ApplyOptions())
    other = await agent.cluster.apply(tracked(namespace, "other", colour="blue"), ApplyOptions())
    heard: list[LiveChange] = []
    agent.live.index.changes_of_others.subscribe(heard.append)

    again = await agent.cluster.apply(tracked(namespace, "ours", colour="red"), ApplyOptions())
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    await api.patch(f"{maps}/other", {"data": {"colour": "red"}})
    await until(lambda: any(change.before == other for change in heard))

    assert not {ours.key, again.key} & {it.after.key for it in heard if it.after is not None}
    (change,) = [change for change in heard if change.before == other]
    assert change.after is not None
    assert change.after.manifest["data"] == {"colour": "red"}


async def test_an_event_longer_than_64_kib_arrives(
    agent: KubeFixture, api: KubeApi, namespace: str
) -> None:
    maps, key = f"/api/v1/namespaces/{namespace}/configmaps", key_of(namespace, "large")

    await api.create(maps, tracked(namespace, "large", text="x" * 500_000))
    await until(lambda: agent.live.get(key) is not None)

    (large,) = agent.live.tracked(AppKey("argocd", "shop"))
    assert len(large.body) > 500_000


async def test_a_list_is_walked_in_pages(agent: KubeFixture, api: KubeApi, namespace: str) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(5):
        await api.create(maps, config_map(f"map-{number}"))

    sizes = [len(page.items or ()) async for page in pages(agent.client, maps, size=2)]

    assert sum(sizes) >= 5
    assert max(sizes) == 2


async def test_a_kind_comes_and_goes_with_its_definition(
    agent: KubeFixture, api: KubeApi, namespace: str
) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    group = f"{namespace}.example"
    await api.create(definitions, definition(group))
    await until(lambda: agent.live.kind(group, "Toy") is not None)
    assert f"{group}/v1/Toy" in agent.live.api_versions()

    toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "bear"}}
    await api.create(f"/apis/{group}/v1/namespaces/{namespace}/toys", toy)
    key = ResourceKey(group, "Toy", namespace, "bear")
    await until(lambda: agent.live.get(key) is not None)

    await api.delete(f"{definitions}/toys.{group}")
    await until(lambda: agent.live.kind(group, "Toy") is None)
    await until(lambda: agent.live.get(key) is None)


async def test_a_new_kind_is_found_where_definitions_may_not_be_seen(
    control_plane: ControlPlane, api: KubeApi, namespace: str, tmp_path: Path
) -> None:
    """By the clock; the rights of a namespace are all that it has."""
    group = f"{namespace}.example"
    everything = GrantedRule(api_groups=("", group), resources=("configmaps", "toys"))
    limited = RightsAccount(namespace=namespace, name="limited", home_rules=(everything,))
    access = await open_account(control_plane, limited)
    kubeconfig = access.write_kubeconfig(tmp_path / "limited.kubeconfig")
    opening = opened(kubeconfig, namespaces=(namespace,), look_every=0.2)
    async with opening as agent, following(agent):
        assert "apiextensions.k8s.io/CustomResourceDefinition" in agent.live.unlisted()
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await api.create(definitions, definition(group))
        await until(lambda: agent.live.kind(group, "Toy") is not None)
        toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "bear"}}
        await api.create(f"/apis/{group}/v1/namespaces/{namespace}/toys", toy)
        key = ResourceKey(group, "Toy", namespace, "bear")
        await until(lambda: agent.live.get(key) is not None)
        await api.delete(f"{definitions}/toys.{group}")


async def test_what_is_never_of_use_is_not_watched(
    agent: KubeFixture, control_plane: ControlPlane
) -> None:
    async with opened(control_plane.kubeconfig) as whole, following(whole):
        followed = {f"{scope.group}/{scope.kind}" for scope in whole.live._watches.scopes()}

    assert {"/ConfigMap", "apps/Deployment", "rbac.authorization.k8s.io/ClusterRole"} <= followed
    assert followed.isdisjoint({"/Event", "events.k8s.io/Event", "coordination.k8s.io/Lease"})
    assert agent.live.kube_version().startswith("v1.")
    assert {"v1", "v1/Pod", "apps/v1", "apps/v1/Deployment"} <= set(agent.live.api_versions())


async def test_cancelling_leaves_no_task_and_no_connection(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as agent:
        async with following(agent):
            assert watching_tasks()
        assert watching_tasks() == []


async def test_a_cancelled_apply_gives_its_place_back(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with opened(control_plane.kubeconfig) as agent:
        await agent.live.look()
        throttle = agent.client._transport._throttle
        blue, red = (tracked(namespace, "one", colour=colour) for colour in ("blue", "red"))
        task = asyncio.ensure_future(agent.cluster.apply(blue, ApplyOptions()))
        while not throttle.open:  # noqa: ASYNC110  to be caught in the middle, not after
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

        assert throttle.open == 0
        assert (await agent.cluster.apply(red, ApplyOptions())).manifest["data"] == red["data"]


def watching_tasks() -> list[str]:
    names = [task.get_name() for task in asyncio.all_tasks()]
    return [name for name in names if name.startswith(("watch", "live state"))]


def definition(group: str) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "toys", "singular": "toy", "kind": "Toy", "listKind": "ToyList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"toys.{group}"},
        "spec": {"group": group, "names": names, "scope": "Namespaced", "versions": [version]},
    }


async def test_an_object_nested_thousands_deep_ends_no_watch(
    agent: KubeFixture, control_plane: ControlPlane, api: KubeApi, namespace: str
) -> None:
    """One agent gets it by its watch, another by a list; both see the other object of its kind."""
    group, definitions = f"{namespace}.example", "/apis/apiextensions.k8s.io/v1"
    await api.create(f"{definitions}/customresourcedefinitions", definition(group))
    await until(lambda: agent.live.kind(group, "Toy") is not None)
    toys = f"/apis/{group}/v1/namespaces/{namespace}/toys"

    await agent.client.create(toys, deep_toy(group, "deep"))
    await agent.client.create(toys, deep_toy(group, "flat", levels=3))
    await until(lambda: len(agent.live.index.of_kind(group, "Toy")) == 2)

    expected = {"deep": HealthStatus.UNKNOWN, "flat": None}
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as other, following(other):
        for index in (agent.live.index, other.live.index):
            toys_seen = index.of_kind(group, "Toy")
            assert {live.key.name: live.health for live in toys_seen} == expected
    with pytest.raises(NestedTooDeeplyError, match="deep is left out"):
        await agent.client.get(f"{toys}/deep")
    await api.delete(f"{definitions}/customresourcedefinitions/toys.{group}")


def deep_toy(group: str, name: str, levels: int = 3_000) -> bytes:
    deep = '{"a":' * levels + "1" + "}" * levels
    head = f'"apiVersion":"{group}/v1","kind":"Toy","metadata":{{"name":"{name}"}}'
    return f'{{{head},"spec":{deep}}}'.encode()
