"""Whatever a hostile control plane puts, orders or deletes, it leaves no permitted namespace."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec
import pytest

from agent.store.applications import Applications
from bus.link import TaskKind, TaskPhase
from handlers.control_plane.governance import GOVERNED
from tests.faults.hostile_service.hostile import Hostile, has_ended, messages
from tests.flows.agent_fixture import APPLICATIONS, AgentFixture, config_map
from tests.flows.fake_service_link import allow
from tests.support import eventually


def in_namespace(name: str, namespace: str) -> str:
    return (
        f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: {namespace}}}\n"
        "data: {a: b}\n"
    )


def application(agent: AgentFixture, name: str, path: str, namespace: str) -> str:
    """A manifest for Git."""
    body = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name, "namespace": agent.namespace},
        "spec": {
            "project": "default",
            "source": {
                "repoURL": agent.repository.url,
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
    hostile.agent.commit(
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
    agent = hostile.agent
    agent.commit(
        {"evil/limits.yaml": in_namespace("gitops-agent-limits", agent.namespace)},
    )
    await allow(
        agent, kinds="put, tree, live", namespaces=f"{agent.destination}, {agent.namespace}"
    )
    await hostile.link.fake_service.connected(times=2)
    await hostile.put_app("evil", "evil")
    ended = await hostile.settled("evil")
    path = f"/api/v1/namespaces/{agent.namespace}/configmaps/gitops-agent-limits"
    stands = (await agent.api.get(path))["data"]
    assert "a" not in stands
    assert stands["kinds"] == "put, tree, live"
    assert "no destination" in messages(ended)
    assert hostile.link.fake_service.hellos[-1].allowed["kinds"] == ["put", "tree", "live"]


async def test_an_application_of_applications_is_held_too(hostile: Hostile) -> None:
    agent = hostile.agent
    kinds = frozenset({"Application"})
    object.__setattr__(agent.parts.governance, "control_kinds", kinds)
    await allow(agent, namespaces=f"{agent.destination}, {agent.namespace}")
    await hostile.link.fake_service.connected(times=2)
    agent.commit(
        {
            "parent/child.yaml": application(agent, "child", "child", agent.destination),
            "child/outside.yaml": in_namespace("outside", hostile.victim),
        }
    )
    await hostile.put_app("parent", "parent", namespace=agent.namespace)
    child = await hostile.settled("child")
    assert GOVERNED in child["metadata"]["annotations"]
    assert not await hostile.exists(f"/api/v1/namespaces/{hostile.victim}/configmaps/outside")
    assert "does not name" in messages(child)


async def test_an_application_of_applications_brings_none_unless_the_owner_says_so(
    hostile: Hostile,
) -> None:
    agent = hostile.agent
    await allow(agent, namespaces="*", clusterScoped="true")
    await hostile.link.fake_service.connected(times=2)
    agent.commit({"parent/child.yaml": application(agent, "child", "web", agent.destination)})
    await hostile.put_app("parent", "parent", namespace=agent.namespace)
    ended = await hostile.settled("parent")
    assert agent.known("child") is None
    assert "GITOPS_CONTROL_NAMESPACE_KINDS" in messages(ended)


async def test_kinds_that_the_owner_takes_out_are_not_deployed(hostile: Hostile) -> None:
    agent = hostile.agent
    await allow(agent, namespaces=agent.destination, objectKinds="*, !Secret")
    await hostile.link.fake_service.connected(times=2)
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: evil}\nstringData: {a: b}\n"
    agent.commit({"evil/a.yaml": config_map("a"), "evil/secret.yaml": secret})
    await hostile.put_app("evil", "evil")
    ended = await hostile.settled("evil")
    assert await agent.get("secrets/evil") is None
    assert "objectKinds" in messages(ended)


async def test_a_project_put_over_the_link_widens_nothing(hostile: Hostile) -> None:
    """A person's application of that project becomes one that the policy holds for."""
    agent = hostile.agent
    await allow(agent, namespaces=f"{agent.destination}, {agent.namespace}")
    await hostile.link.fake_service.connected(times=2)
    agent.commit({"web/outside.yaml": in_namespace("outside", hostile.victim)})
    narrow = {"server": "*", "namespace": agent.destination}
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects"
    await agent.api.create(
        path,
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "team"},
            "spec": {"sourceRepos": ["*"], "destinations": [narrow]},
        },
    )
    await agent.apply_app("web", "web", project="team", syncPolicy={"automated": {}})
    await hostile.settled("web")
    everywhere = {"sourceRepos": ["*"], "destinations": [{"server": "*", "namespace": "*"}]}
    put = await hostile.put("team", "AppProject", everywhere)
    assert put.phase is TaskPhase.SUCCEEDED, put
    ended = await agent.until(
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
    hostile.agent.commit(files)
    await hostile.agent.apply_app("web", "web", syncPolicy={"automated": {}})
    return await hostile.agent.until_synced("web")


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
    assert GOVERNED not in (await hostile.agent.app("web"))["metadata"].get("annotations", {})


async def test_a_child_application_is_not_deleted_or_changed_as_an_object_of_its_parent(
    hostile: Hostile,
) -> None:
    """Its own tasks judge its objects; a deletion as an object would cascade past that."""
    agent = hostile.agent
    object.__setattr__(agent.parts.governance, "control_kinds", frozenset({"Application"}))
    await allow(agent, namespaces=f"{agent.destination}, {agent.namespace}", override="true")
    await hostile.link.fake_service.connected(times=2)
    await person_has(hostile)
    agent.commit({"parent/web.yaml": application(agent, "web", "web", agent.destination)})
    await hostile.put_app("parent", "parent", namespace=agent.namespace)
    await hostile.settled("parent")
    child = {"group": "argoproj.io", "kind": "Application", "name": "web"}
    child |= {"namespace": agent.namespace}

    async def done(kind: TaskKind, **more: Any) -> Any:
        uid = (await agent.app("web"))["metadata"]["uid"]
        named = child if kind is TaskKind.OBJECT_PREVIEW else {**child, "uid": uid}
        ended = await hostile.do(kind, "parent", **named, **more)
        return ended if ended.code not in ("not_found", "conflict") else None

    toggle = {"action": "toggle-auto-sync"}
    deleted = await eventually(lambda: done(TaskKind.DELETE_OBJECT), what="the answer")
    toggled = await eventually(lambda: done(TaskKind.RUN_ACTION, **toggle), what="the answer")
    preview = await eventually(
        lambda: done(TaskKind.OBJECT_PREVIEW, delete=True), what="the answer"
    )
    assert (deleted.code, toggled.code, preview.code) == ("not_allowed",) * 3, (deleted, toggled)
    assert "gitops app delete" in deleted.message
    assert "ConfigMap" in toggled.message
    assert "outside" in toggled.message
    app = await agent.app("web")
    assert "deletionTimestamp" not in app["metadata"]
    assert app["spec"]["syncPolicy"]["automated"].get("enabled") is None
    await allow(agent, namespaces=f"{agent.namespace}, {agent.destination}, {hostile.victim}")
    await hostile.link.fake_service.connected(times=3)

    async def changed() -> Any:
        ended = await done(TaskKind.RUN_ACTION, **toggle)
        return ended if ended is not None and ended.phase is TaskPhase.SUCCEEDED else None

    assert await eventually(changed, what="the change that the policy permits now")


async def test_an_ordered_sync_prunes_nothing_beyond_the_policy(hostile: Hostile) -> None:
    await person_has(hostile)
    await hostile.agent.apply_app("web", "web")
    hostile.agent.commit({"web/outside.yaml": None})
    await hostile.do(TaskKind.REFRESH, "web")
    pruned = await hostile.do(TaskKind.SYNC, "web", prune=True)
    assert pruned.phase is TaskPhase.SUCCEEDED, pruned
    assert await hostile.exists(f"/api/v1/namespaces/{hostile.victim}/configmaps/outside")


async def test_the_link_does_not_take_its_mark_away(hostile: Hostile) -> None:
    hostile.agent.commit({"evil/a.yaml": config_map("a")})
    await hostile.put_app("evil", "evil")
    spec = (await hostile.agent.app("evil"))["spec"]
    for notes in ({}, {GOVERNED: ""}, {"other": "x"}):
        await hostile.put("evil", "Application", spec, annotations=notes)
        assert GOVERNED in (await hostile.agent.app("evil"))["metadata"]["annotations"]


async def test_no_namespace_is_made_beyond_the_policy(hostile: Hostile) -> None:
    agent, made = hostile.agent, f"made-{uuid.uuid4().hex[:8]}"
    await allow(agent, namespaces=f"{agent.destination}")
    agent.commit({"web/a.yaml": in_namespace("a", made)})
    await agent.apply_app("web", "web", destination={"server": SERVER, "namespace": made})
    refused = await hostile.do(TaskKind.SYNC, "web", options=["CreateNamespace=true"])
    assert refused.phase is TaskPhase.FAILED
    assert not await hostile.exists(f"/api/v1/namespaces/{made}")


SERVER = "https://kubernetes.default.svc"


async def test_without_a_policy_nothing_is_written(hostile: Hostile) -> None:
    agent = hostile.agent
    path = f"/api/v1/namespaces/{agent.namespace}/configmaps/gitops-agent-limits"
    await agent.api.delete(path)
    await hostile.link.fake_service.connected(times=2)
    for refused in (
        await hostile.put_app("evil", "evil"),
        await hostile.do(TaskKind.SYNC, "evil"),
        await hostile.do(TaskKind.DELETE, "evil"),
    ):
        assert refused.code == "not_allowed"
        assert "its owner allows more by making one" in refused.message


async def test_a_deletion_is_what_it_says_and_not_what_a_manifest_beside_it_says(
    hostile: Hostile,
) -> None:
    """The agent's own namespace, with its projects and credentials, is not permitted."""
    agent = hostile.agent
    projects = f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects"
    secrets = f"/api/v1/namespaces/{agent.namespace}/secrets"
    labels = {"argocd.argoproj.io/secret-type": "repository"}
    await agent.api.create(
        projects,
        {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "AppProject",
            "metadata": {"name": "fence"},
            "spec": {},
        },
    )
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "login", "labels": labels}}
    await agent.api.create(secrets, {**secret, "stringData": {"url": "https://git.example/a"}})
    for kind, name in (("AppProject", "fence"), ("Repository", "login")):
        disguise = {"kind": "Application", "spec": {"destination": {}}}
        disguise["spec"] = {"destination": {"namespace": agent.destination}}
        refused = await hostile.do(TaskKind.DELETE, name, kind=kind, manifest=disguise)
        assert refused.code == "not_allowed", refused
    assert await hostile.exists(f"{projects}/fence")
    assert await hostile.exists(f"{secrets}/login")


@pytest.mark.parametrize("subject", ["web", "elsewhere/web", "/web", "else/where/web"])
async def test_an_application_is_deleted_by_no_other_spelling_of_its_name(
    hostile: Hostile, subject: str
) -> None:
    """Without a cascade nothing of the application's objects stands in the way."""
    hostile.agent.commit({"web/outside.yaml": in_namespace("outside", hostile.victim)})
    there = {"server": SERVER, "namespace": hostile.victim}
    await hostile.agent.apply_app("web", "web", destination=there)
    await eventually(lambda: hostile.agent.known("web"))
    refused = await hostile.link.do(TaskKind.DELETE, subject, kind="Application", cascade=False)
    app = await hostile.agent.app("web")
    assert refused.code == "not_allowed", refused
    assert "deletionTimestamp" not in app["metadata"]
    assert GOVERNED not in app["metadata"].get("annotations", {})


async def test_an_application_that_the_agent_has_not_seen_yet_is_neither_deleted_nor_changed(
    hostile: Hostile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The policy could not judge it: a watch event comes a moment after the object."""
    monkeypatch.setattr(Applications, "_keep", lambda _apps, _app: None)
    there = {"server": SERVER, "namespace": hostile.victim}
    made = hostile.agent.app_manifest("web", "web", destination=there)
    await hostile.agent.api.create(APPLICATIONS.format(hostile.agent.namespace), made)
    before = await hostile.agent.app("web")
    spec = {**before["spec"], "destination": {**there, "namespace": hostile.agent.destination}}
    manifest = {**before, "metadata": {"name": "web"}, "spec": spec}
    deleted = await hostile.link.do(TaskKind.DELETE, kind="Application", cascade=False)
    changed = await hostile.link.do(TaskKind.PUT, kind="Application", manifest=manifest)
    assert (deleted.code, changed.code) == ("conflict", "conflict")
    assert "try again" in deleted.message
    assert await hostile.agent.app("web") == before
