"""Whatever a hostile control plane puts, orders or deletes, it leaves no permitted namespace."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest

from bus.link import TaskKind, TaskPhase
from handlers.control_plane.governed import GOVERNED
from tests.faults.hostile_service.hostile import Hostile, has_ended, messages
from tests.flows.house import House, config_map
from tests.flows.near import allow

pytestmark = pytest.mark.flow


def in_namespace(name: str, namespace: str) -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        "data: {a: b}\n"
    )


def application(house: House, name: str, path: str, namespace: str) -> str:
    """A manifest for Git."""
    body = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": house.namespace},
        "spec": {
            "project": "default",
            "source": {
                "repoURL": house.repository.url,
                "path": path,
                "targetRevision": "main",
            },
            "destination": {"server": "https://kubernetes.default.svc", "namespace": namespace},
            "syncPolicy": {"automated": {"prune": True}},
        },
    }
    return msgspec.json.encode(body).decode()


async def test_an_application_for_another_namespace_is_refused(hostile: Hostile) -> None:
    refused = await hostile.put_app("evil", "evil", namespace=hostile.victim)
    assert refused.code == "not_allowed"
    assert hostile.victim in refused.message


async def test_an_application_is_put_into_no_other_namespace(hostile: Hostile) -> None:
    refused = await hostile.put("evil", "Application", {}, namespace=hostile.victim)
    assert refused.phase is TaskPhase.FAILED


async def test_git_does_not_lead_out_of_the_permitted_namespace(hostile: Hostile) -> None:
    token = f"pwned-{uuid.uuid4().hex[:8]}"
    hostile.house.commit(
        {
            "evil/inside.yaml": config_map("inside"),
            "evil/outside.yaml": in_namespace("outside", hostile.victim),
            "evil/binding.yaml": (
                "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\n"
                f"metadata: {{name: {token}}}\n"
                "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole,"
                " name: cluster-admin}\n"
                "subjects: [{kind: ServiceAccount, name: default, namespace: default}]\n"
            ),
        }
    )
    accepted = await hostile.put_app("evil", "evil")
    ended = await hostile.settled("evil")
    bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    assert accepted.phase is TaskPhase.SUCCEEDED
    assert not await hostile.exists(f"/api/v1/namespaces/{hostile.victim}/configmaps/outside")
    assert not await hostile.exists(f"{bindings}/{token}")
    assert ended["status"]["operationState"]["phase"] == "Failed"
    assert "does not name" in messages(ended)
    assert "clusterScoped" in messages(ended)


async def test_git_does_not_rewrite_the_owners_policy(hostile: Hostile) -> None:
    house = hostile.house
    house.commit(
        {"evil/limits.yaml": in_namespace("gitops-agent-limits", house.namespace)},
    )
    await allow(
        house, kinds="put, tree, live", namespaces=f"{house.destination}, {house.namespace}"
    )
    await hostile.near.far.connected(times=2)
    await hostile.put_app("evil", "evil")
    ended = await hostile.settled("evil")
    path = f"/api/v1/namespaces/{house.namespace}/configmaps/gitops-agent-limits"
    stands = (await house.api.get(path))["data"]
    assert "a" not in stands
    assert stands["kinds"] == "put, tree, live"
    assert "no destination" in messages(ended)
    assert hostile.near.far.hellos[-1].allowed["kinds"] == ["put", "tree", "live"]


async def test_an_application_of_applications_is_held_too(hostile: Hostile) -> None:
    house = hostile.house
    kinds = frozenset({"Application"})
    object.__setattr__(house.parts.governance, "control_kinds", kinds)
    await allow(house, namespaces=f"{house.destination}, {house.namespace}")
    await hostile.near.far.connected(times=2)
    house.commit(
        {
            "parent/child.yaml": application(house, "child", "child", house.destination),
            "child/outside.yaml": in_namespace("outside", hostile.victim),
        }
    )
    await hostile.put_app("parent", "parent", namespace=house.namespace)
    child = await hostile.settled("child")
    assert GOVERNED in child["metadata"]["annotations"]
    assert not await hostile.exists(f"/api/v1/namespaces/{hostile.victim}/configmaps/outside")
    assert "does not name" in messages(child)


async def test_an_application_of_applications_brings_none_unless_the_owner_says_so(
    hostile: Hostile,
) -> None:
    house = hostile.house
    await allow(house, namespaces="*", clusterScoped="true")
    await hostile.near.far.connected(times=2)
    house.commit({"parent/child.yaml": application(house, "child", "web", house.destination)})
    await hostile.put_app("parent", "parent", namespace=house.namespace)
    ended = await hostile.settled("parent")
    assert house.known("child") is None
    assert "GITOPS_CONTROL_NAMESPACE_KINDS" in messages(ended)


async def test_kinds_that_the_owner_takes_out_are_not_deployed(hostile: Hostile) -> None:
    house = hostile.house
    await allow(house, namespaces=house.destination, objectKinds="*, !Secret")
    await hostile.near.far.connected(times=2)
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: evil}\nstringData: {a: b}\n"
    house.commit({"evil/a.yaml": config_map("a"), "evil/secret.yaml": secret})
    await hostile.put_app("evil", "evil")
    ended = await hostile.settled("evil")
    assert await house.get("secrets/evil") is None
    assert "objectKinds" in messages(ended)


async def test_a_project_put_over_the_link_widens_nothing(hostile: Hostile) -> None:
    """A person's application of that project becomes one that the policy holds for."""
    house = hostile.house
    await allow(house, namespaces=f"{house.destination}, {house.namespace}")
    await hostile.near.far.connected(times=2)
    house.commit({"web/outside.yaml": in_namespace("outside", hostile.victim)})
    narrow = {"server": "*", "namespace": house.destination}
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{house.namespace}/appprojects"
    await house.api.create(
        path,
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "team"},
            "spec": {"sourceRepos": ["*"], "destinations": [narrow]},
        },
    )
    await house.apply_app("web", "web", project="team", syncPolicy={"automated": {}})
    await hostile.settled("web")
    everywhere = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}
    put = await hostile.put("team", "AppProject", everywhere)
    assert put.phase is TaskPhase.SUCCEEDED, put
    ended = await house.until(
        lambda app: has_ended(app) and "gitops-agent-limits" in messages(app), app="web"
    )
    assert not await hostile.exists(f"/api/v1/namespaces/{hostile.victim}/configmaps/outside")
    assert ended["status"]["operationState"]["phase"] == "Failed"


async def person_has(hostile: Hostile) -> Any:
    """An application of a person with an object in the permitted namespace and one beyond."""
    files = {
        "web/inside.yaml": config_map("inside"),
        "web/outside.yaml": in_namespace("outside", hostile.victim),
    }
    hostile.house.commit(files)
    await hostile.house.apply_app("web", "web", syncPolicy={"automated": {}})
    return await hostile.house.until_synced("web")


async def test_what_a_person_has_beyond_the_policy_is_neither_edited_nor_deleted(
    hostile: Hostile,
) -> None:
    app = await person_has(hostile)
    outside = f"/api/v1/namespaces/{hostile.victim}/configmaps/outside"
    edited = await hostile.put("web", "Application", app["spec"])
    deleted = await hostile.do(TaskKind.DELETE, "web", kind="Application", cascade=True)
    assert (edited.code, deleted.code) == ("not_allowed", "not_allowed")
    assert "outside" in edited.message
    assert await hostile.exists(outside)
    assert GOVERNED not in (await hostile.house.app("web"))["metadata"].get("annotations", {})


async def test_an_ordered_sync_prunes_nothing_beyond_the_policy(hostile: Hostile) -> None:
    await person_has(hostile)
    await hostile.house.apply_app("web", "web")
    hostile.house.commit({"web/outside.yaml": None})
    await hostile.do(TaskKind.REFRESH, "web")
    pruned = await hostile.do(TaskKind.SYNC, "web", prune=True)
    assert pruned.phase is TaskPhase.SUCCEEDED, pruned
    assert await hostile.exists(f"/api/v1/namespaces/{hostile.victim}/configmaps/outside")


async def test_the_link_does_not_take_its_mark_away(hostile: Hostile) -> None:
    hostile.house.commit({"evil/a.yaml": config_map("a")})
    await hostile.put_app("evil", "evil")
    spec = (await hostile.house.app("evil"))["spec"]
    for notes in ({}, {GOVERNED: ""}, {"other": "x"}):
        await hostile.put("evil", "Application", spec, annotations=notes)
        assert GOVERNED in (await hostile.house.app("evil"))["metadata"]["annotations"]


async def test_no_namespace_is_made_beyond_the_policy(hostile: Hostile) -> None:
    house, made = hostile.house, f"made-{uuid.uuid4().hex[:8]}"
    await allow(house, namespaces=f"{house.destination}")
    house.commit({"web/a.yaml": in_namespace("a", made)})
    await house.apply_app("web", "web", destination={"server": SERVER, "namespace": made})
    refused = await hostile.do(TaskKind.SYNC, "web", options=["CreateNamespace=true"])
    assert refused.phase is TaskPhase.FAILED
    assert not await hostile.exists(f"/api/v1/namespaces/{made}")


SERVER = "https://kubernetes.default.svc"


async def test_without_a_policy_nothing_is_written(hostile: Hostile) -> None:
    house = hostile.house
    path = f"/api/v1/namespaces/{house.namespace}/configmaps/gitops-agent-limits"
    await house.api.delete(path)
    await hostile.near.far.connected(times=2)
    for refused in (
        await hostile.put_app("evil", "evil"),
        await hostile.do(TaskKind.SYNC, "evil"),
        await hostile.do(TaskKind.DELETE, "evil"),
    ):
        assert refused.code == "not_allowed"
        assert "its owner allows more by making one" in refused.message
