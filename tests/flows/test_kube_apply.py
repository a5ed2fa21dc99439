"""Writes to a real API server: what it answers is in the index before the call returns."""

from __future__ import annotations

import traceback
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.kube.errors import ConflictError, NotFoundError
from agent.kube.kube_request import RequestSeen
from bus.identity import AppKey, ResourceKey
from handlers.ports import ApplyOptions, ApplyRefusedError, LiveObject
from playground.kubernetes import ControlPlane
from tests.unit.agent.kube.kube_fixture import KubeFixture, following, opened


@pytest.fixture
async def agent(control_plane: ControlPlane, namespace: str) -> AsyncIterator[KubeFixture]:
    async with opened(control_plane.kubeconfig, namespaces=(namespace,)) as agent, following(agent):
        yield agent


def config_map(namespace: str, name: str = "settings", **data: str) -> dict[str, Any]:
    tracking = f"shop:/ConfigMap:{namespace}/{name}"
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "annotations": {"argocd.argoproj.io/tracking-id": tracking},
        },
        "data": data,
    }


def deployment(namespace: str, app: str = "web", replicas: int = 1) -> dict[str, Any]:
    labels = {"app": app}
    pod = {"containers": [{"name": "web", "image": "web:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


async def test_an_applied_object_is_in_the_index_at_once(
    agent: KubeFixture, namespace: str
) -> None:
    live = await agent.cluster.apply(config_map(namespace, colour="blue"), ApplyOptions())

    assert agent.live.get(live.key) == live
    assert agent.live.tracked(AppKey("argocd", "shop")) == (live,)
    assert live.manifest["data"] == {"colour": "blue"}
    assert b"f:colour" in live.owned
    assert "managedFields" not in live.manifest["metadata"]


async def test_applying_the_same_again_changes_nothing(agent: KubeFixture, namespace: str) -> None:
    first = await agent.cluster.apply(config_map(namespace, colour="blue"), ApplyOptions())
    again = await agent.cluster.apply(config_map(namespace, colour="blue"), ApplyOptions())
    changed = await agent.cluster.apply(config_map(namespace, colour="red"), ApplyOptions())

    assert again.resource_version == first.resource_version
    assert again.fingerprint == first.fingerprint != changed.fingerprint


async def test_an_apply_is_one_request(control_plane: ControlPlane, namespace: str) -> None:
    seen: list[RequestSeen] = []
    async with opened(control_plane.kubeconfig, observe=seen.append) as agent:
        await agent.live.look()
        seen.clear()
        live = await agent.cluster.apply(config_map(namespace, colour="blue"), ApplyOptions())
        await agent.cluster.delete(live)

    assert [(it.verb, it.code) for it in seen] == [("patch", 201), ("delete", 200)]


async def test_a_dry_run_writes_nothing(agent: KubeFixture, namespace: str) -> None:
    manifest = config_map(namespace, colour="blue")

    answer = await agent.cluster.apply(manifest, ApplyOptions(dry_run=True))

    assert answer.manifest["data"] == {"colour": "blue"}
    assert agent.live.get(answer.key) is None


async def test_a_conflict_names_the_other_manager_and_the_fields(
    agent: KubeFixture, control_plane: ControlPlane, namespace: str
) -> None:
    async with control_plane.api() as api:
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/web"
        await api.apply(path, deployment(namespace, replicas=3), manager="autoscaler")

    with pytest.raises(ConflictError) as refused:
        await agent.cluster.apply(
            deployment(namespace, replicas=1), ApplyOptions(force_conflicts=False)
        )

    assert '"autoscaler" owns .spec.replicas' in refused.value.message
    assert refused.value.permanent
    forced = await agent.cluster.apply(deployment(namespace, replicas=1), ApplyOptions())
    assert forced.manifest["spec"]["replicas"] == 1


async def test_an_immutable_field_is_refused_for_good(agent: KubeFixture, namespace: str) -> None:
    await agent.cluster.apply(deployment(namespace), ApplyOptions())

    with pytest.raises(ApplyRefusedError) as refused:
        await agent.cluster.apply(deployment(namespace, app="other"), ApplyOptions())

    assert (refused.value.code, refused.value.permanent) == (422, True)
    assert "field is immutable" in refused.value.message


async def test_an_unknown_field_is_refused_for_good(agent: KubeFixture, namespace: str) -> None:
    wrong = {**config_map(namespace), "dataa": {"colour": "blue"}}

    with pytest.raises(ApplyRefusedError) as refused:
        await agent.cluster.apply(wrong, ApplyOptions())

    assert "dataa" in refused.value.message
    assert refused.value.permanent


async def test_a_missing_namespace_may_come(agent: KubeFixture) -> None:
    with pytest.raises(NotFoundError) as refused:
        await agent.cluster.apply(config_map("nowhere"), ApplyOptions())

    assert "nowhere" in refused.value.message
    assert not refused.value.permanent


async def test_an_unknown_kind_may_come(agent: KubeFixture, namespace: str) -> None:
    alien = {**config_map(namespace), "apiVersion": "nowhere.example/v1", "kind": "Alien"}

    with pytest.raises(ApplyRefusedError, match=r"does not serve Alien") as refused:
        await agent.cluster.apply(alien, ApplyOptions())

    assert not refused.value.permanent


async def test_replace_drops_what_others_added(
    agent: KubeFixture, control_plane: ControlPlane, namespace: str
) -> None:
    created = await agent.cluster.apply(
        config_map(namespace, colour="blue"), ApplyOptions(replace=True)
    )
    async with control_plane.api() as api:
        path = f"/api/v1/namespaces/{namespace}/configmaps/settings"
        await api.patch(path, {"data": {"size": "9"}})
    await agent.until(lambda: agent.version(created.key) != created.resource_version)

    replaced = await agent.cluster.apply(
        config_map(namespace, colour="red"), ApplyOptions(replace=True)
    )

    assert replaced.manifest["data"] == {"colour": "red"}


async def test_a_generated_name_makes_a_new_object_each_time(
    agent: KubeFixture, namespace: str
) -> None:
    job = config_map(namespace)
    job["metadata"] = {"generateName": "settings-", "namespace": namespace}

    one = await agent.cluster.apply(job, ApplyOptions())
    other = await agent.cluster.apply(job, ApplyOptions())

    assert one.key != other.key


async def test_delete_takes_exactly_this_object(agent: KubeFixture, namespace: str) -> None:
    old = await agent.cluster.apply(config_map(namespace, colour="blue"), ApplyOptions())
    await agent.cluster.delete(old, propagation="background")
    new = await agent.cluster.apply(config_map(namespace, colour="red"), ApplyOptions())

    await agent.cluster.delete(old, propagation="background")

    assert agent.live.get(new.key) == new
    await agent.cluster.delete(new, propagation="background")
    assert agent.live.get(new.key) is None


async def test_a_foreground_deletion_is_seen_to_its_end(agent: KubeFixture, namespace: str) -> None:
    web = await agent.cluster.apply(deployment(namespace), ApplyOptions())

    def pods() -> tuple[LiveObject, ...]:
        return agent.live.index.of_kind("", "Pod")

    await agent.until(lambda: any(pod.health == "Healthy" for pod in pods()))

    await agent.cluster.delete(web)

    here = agent.live.get(web.key)
    assert here is None or here.deleting
    await agent.until(lambda: agent.live.get(web.key) is None and not pods())


async def test_the_owner_tree_leads_from_deployment_to_pod(
    agent: KubeFixture, namespace: str
) -> None:
    web = await agent.cluster.apply(deployment(namespace), ApplyOptions())

    await agent.until(lambda: bool(agent.live.owned_by(web.uid)))
    (replica_set,) = agent.live.owned_by(web.uid)
    await agent.until(lambda: bool(agent.live.owned_by(replica_set.uid)))
    (pod,) = agent.live.owned_by(replica_set.uid)

    assert (replica_set.key.kind, pod.key.kind) == ("ReplicaSet", "Pod")
    assert pod.body == b""


@pytest.mark.parametrize(
    "wrong",
    [{"data": {"token": "hunter2!"}}, {"data": {"token": {"hunter2!": "hunter2!"}}}],
    ids=["not base64", "not a string"],
)
async def test_the_refusal_of_a_secret_does_not_quote_it(
    agent: KubeFixture, namespace: str, wrong: dict[str, Any]
) -> None:
    metadata = {"name": "key", "namespace": namespace}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, **wrong}

    with pytest.raises(ApplyRefusedError) as refused:
        await agent.cluster.apply(secret, ApplyOptions())

    assert refused.value.permanent
    assert "hunter2" not in "".join(traceback.format_exception(refused.value))


async def test_a_secret_is_kept_whole_for_comparison(agent: KubeFixture, namespace: str) -> None:
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "key",
            "namespace": namespace,
            "annotations": {
                "argocd.argoproj.io/tracking-id": f"shop:/Secret:{namespace}/key",
            },
        },
        "stringData": {"token": "hunter2"},
    }

    live = await agent.cluster.apply(secret, ApplyOptions())

    assert live.key == ResourceKey("", "Secret", namespace, "key")
    assert live.manifest["data"] == {"token": "aHVudGVyMg=="}
