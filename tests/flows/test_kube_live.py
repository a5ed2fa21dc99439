"""The index follows a real cluster: changes by others, lost connections, kinds that come and go."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent.kube.index import LiveChange
from agent.kube.pages import pages
from bus.identity import AppKey, ResourceKey
from handlers.ports import ApplyOptions
from playground.kubeapi import KubeApi
from playground.kubernetes import ControlPlane
from playground.rights import Account, Rule, open_account
from tests.kube.world import House, following, opened, until

pytestmark = pytest.mark.flow


@pytest.fixture
async def house(control_plane: ControlPlane, namespace: str) -> AsyncIterator[House]:
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as house, following(house):
        yield house


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


async def test_what_others_do_is_seen(house: House, api: KubeApi, namespace: str) -> None:
    maps, key = f"/api/v1/namespaces/{namespace}/configmaps", key_of(namespace, "one")
    await api.create(maps, config_map("one"))
    await until(lambda: house.live.get(key) is not None)
    created = house.version(key)

    await api.patch(f"{maps}/one", {"data": {"colour": "red"}})
    await until(lambda: house.version(key) != created)

    await api.delete(f"{maps}/one")
    await until(lambda: house.live.get(key) is None)


async def test_an_edit_by_hand_is_told_and_our_own_apply_is_not(
    house: House, api: KubeApi, namespace: str
) -> None:
    ours = await house.cluster.apply(tracked(namespace, "ours", colour="blue"), ApplyOptions())
    other = await house.cluster.apply(tracked(namespace, "other", colour="blue"), ApplyOptions())
    heard: list[LiveChange] = []
    house.live.index.listener = heard.append

    again = await house.cluster.apply(tracked(namespace, "ours", colour="red"), ApplyOptions())
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    await api.patch(f"{maps}/other", {"data": {"colour": "red"}})
    await until(lambda: any(change.before == other for change in heard))

    assert not {ours.key, again.key} & {it.after.key for it in heard if it.after is not None}
    (change,) = [change for change in heard if change.before == other]
    assert change.after is not None
    assert change.after.manifest["data"] == {"colour": "red"}


async def test_an_event_longer_than_64_kib_arrives(
    house: House, api: KubeApi, namespace: str
) -> None:
    maps, key = f"/api/v1/namespaces/{namespace}/configmaps", key_of(namespace, "large")

    await api.create(maps, tracked(namespace, "large", text="x" * 500_000))
    await until(lambda: house.live.get(key) is not None)

    (large,) = house.live.tracked(AppKey("argocd", "shop"))
    assert len(large.body) > 500_000


async def test_a_list_is_walked_in_pages(house: House, api: KubeApi, namespace: str) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    for number in range(5):
        await api.create(maps, config_map(f"map-{number}"))

    sizes = [len(page.items or ()) async for page in pages(house.client, maps, size=2)]

    assert sum(sizes) >= 5
    assert max(sizes) == 2


async def test_a_kind_comes_and_goes_with_its_definition(
    house: House, api: KubeApi, namespace: str
) -> None:
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    group = f"{namespace}.example"
    await api.create(definitions, definition(group))
    await until(lambda: house.live.kind(group, "Toy") is not None)
    assert f"{group}/v1/Toy" in house.live.api_versions()

    toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "bear"}}
    await api.create(f"/apis/{group}/v1/namespaces/{namespace}/toys", toy)
    key = ResourceKey(group, "Toy", namespace, "bear")
    await until(lambda: house.live.get(key) is not None)

    await api.delete(f"{definitions}/toys.{group}")
    await until(lambda: house.live.kind(group, "Toy") is None)
    assert house.live.get(key) is None


async def test_a_new_kind_is_found_where_definitions_may_not_be_seen(
    control_plane: ControlPlane, api: KubeApi, namespace: str, tmp_path: Path
) -> None:
    """By the clock; the rights of a namespace are all that it has."""
    group = f"{namespace}.example"
    everything = Rule(api_groups=("", group), resources=("configmaps", "toys"))
    limited = Account(namespace=namespace, name="limited", home_rules=(everything,))
    access = await open_account(control_plane, limited)
    kubeconfig = access.write_kubeconfig(tmp_path / "limited.kubeconfig")
    world = opened(kubeconfig, namespaces=(namespace,), look_every=0.2)
    async with world as house, following(house):
        assert "apiextensions.k8s.io/CustomResourceDefinition" in house.live.unlisted()
        definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        await api.create(definitions, definition(group))
        await until(lambda: house.live.kind(group, "Toy") is not None)
        toy = {"apiVersion": f"{group}/v1", "kind": "Toy", "metadata": {"name": "bear"}}
        await api.create(f"/apis/{group}/v1/namespaces/{namespace}/toys", toy)
        key = ResourceKey(group, "Toy", namespace, "bear")
        await until(lambda: house.live.get(key) is not None)
        await api.delete(f"{definitions}/toys.{group}")


async def test_what_is_never_of_use_is_not_watched(
    house: House, control_plane: ControlPlane
) -> None:
    async with opened(control_plane.kubeconfig) as whole, following(whole):
        followed = {f"{scope.group}/{scope.kind}" for scope in whole.live._watches.scopes()}

    assert {"/ConfigMap", "apps/Deployment", "rbac.authorization.k8s.io/ClusterRole"} <= followed
    assert followed.isdisjoint({"/Event", "events.k8s.io/Event", "coordination.k8s.io/Lease"})
    assert house.live.kube_version().startswith("v1.")
    assert {"v1", "v1/Pod", "apps/v1", "apps/v1/Deployment"} <= set(house.live.api_versions())


async def test_cancelling_leaves_no_task_and_no_connection(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as house:
        async with following(house):
            assert watching_tasks()
        assert watching_tasks() == []


async def test_a_cancelled_apply_gives_its_place_back(
    control_plane: ControlPlane, namespace: str
) -> None:
    async with opened(control_plane.kubeconfig) as house:
        await house.live.look()
        throttle = house.client._transport._throttle
        blue, red = (tracked(namespace, "one", colour=colour) for colour in ("blue", "red"))
        task = asyncio.ensure_future(house.cluster.apply(blue, ApplyOptions()))
        while not throttle.open:  # noqa: ASYNC110  to be caught in the middle, not after
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])

        assert throttle.open == 0
        assert (await house.cluster.apply(red, ApplyOptions())).manifest["data"] == red["data"]


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
