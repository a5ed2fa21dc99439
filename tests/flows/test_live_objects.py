"""What a person does with one live object, through a real service and a real agent."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from handlers.manifest.tracking import TRACKING_ID
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.flows.fake_service_link import allow
from tests.flows.linked_agent import LinkedAgent, open_linked_agent
from tests.flows.test_exclusions import put_settings
from tests.flows.test_projects import limit
from tests.support import eventually

WEB = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
"""
NIGHTLY = """
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 3 * * *"
  jobTemplate:
    spec:
      template:
        spec: {restartPolicy: Never, containers: [{name: work, image: "registry.example/work:1"}]}
"""
SECRET = (
    "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: {password: swordfish}\n"
)
OWN_ACTIONS = """
discovery.lua: |
  return {["paint"] = {["params"] = {{["name"] = "colour"}}},
          ["freeze"] = {["disabled"] = obj.data.colour == "ice", ["displayName"] = "Freeze it"}}
definitions:
- name: paint
  action.lua: |
    obj.data.colour = actionParams["colour"]
    return obj
- name: freeze
  action.lua: while true do end
"""
DEPLOYMENT = {"group": "apps", "kind": "Deployment", "name": "web"}


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, database_url: str, tmp_path: Path
) -> AsyncIterator[LinkedAgent]:
    async with open_linked_agent(stopped_agent, database_url, tmp_path) as linked_agent:
        yield linked_agent


async def synced(linked_agent: LinkedAgent, **policy: Any) -> str:
    """Deploy the application; return its path at the API."""
    agent, admin = linked_agent.agent, linked_agent.admin
    files = {"deployment": WEB, "cron": NIGHTLY, "settings": config_map("settings", colour="red")}
    agent.commit({f"web/{name}.yaml": text for name, text in {**files, "login": SECRET}.items()})
    await agent.apply_app("web", "web", syncPolicy={"automated": policy})
    await agent.until(
        lambda app: app.get("status", {}).get("sync", {}).get("status") == "Synced", app="web"
    )

    async def shown() -> Any:
        return [it for it in await admin.items("/applications") if it["sync"] == "Synced"]

    (app,) = await eventually(shown, what="the application at the service")
    return f"/applications/{app['id']}"


def query(agent: AgentFixture, **named: str) -> str:
    parts = {"namespace": agent.destination, **named}
    return "&".join(f"{name}={value}" for name, value in parts.items())


async def test_actions_are_listed_previewed_run_and_audited(linked_agent: LinkedAgent) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    await put_settings(agent, resource_customizations_actions_ConfigMap=OWN_ACTIONS)
    app = await synced(linked_agent, selfHeal=True)
    web = {**DEPLOYMENT, "namespace": agent.destination}
    cron = {**web, "group": "batch", "kind": "CronJob", "name": "nightly"}
    settings = {**web, "group": "", "kind": "ConfigMap", "name": "settings"}

    listed = await admin.call("GET", f"{app}/actions?{query(agent, **DEPLOYMENT)}")
    offered = {one["name"]: one for one in listed["actions"]}
    assert sorted(offered) == ["pause", "restart", "resume", "scale"]
    assert offered["resume"]["disabled"]
    assert "already" in offered["resume"]["why"]
    assert (offered["scale"]["params"], offered["scale"]["permitted"]) == (["replicas"], True)

    scale = {**web, "action": "scale", "params": {"replicas": "3"}}
    shown = await admin.call("POST", f"{app}/actions/preview", scale)
    assert shown["changes"] == [{"path": "spec.replicas", "before": 1, "after": 3}]
    assert shown["drift"] == ["spec.replicas"]
    assert "self-heal sets it back" in shown["notes"][0]
    restart = await admin.order("POST", f"{app}/actions", {**web, "action": "restart"})
    assert restart["phase"] == "succeeded", restart
    deployed = await agent.get("apps/v1/deployments/web")
    assert deployed is not None
    stamped = deployed["spec"]["template"]["metadata"]["annotations"]
    assert "kubectl.kubernetes.io/restartedAt" in stamped

    made = await admin.order("POST", f"{app}/actions", {**cron, "action": "create-job"})
    (key,) = made["result"]["created"]
    assert await agent.get(f"batch/v1/jobs/{key.rpartition('/')[2]}") is not None

    own = await admin.call(
        "GET", f"{app}/actions?{query(agent, kind='ConfigMap', name='settings')}"
    )
    assert [(it["name"], it["title"]) for it in own["actions"]] == [
        ("freeze", "Freeze it"),
        ("paint", ""),
    ]
    paint = {**settings, "action": "paint", "params": {"colour": "blue"}}
    shown = await admin.call("POST", f"{app}/actions/preview", paint)
    assert [one["path"] for one in shown["changes"]] == ["data.colour"]
    assert (await admin.order("POST", f"{app}/actions", paint))["phase"] == "succeeded"
    frozen = await admin.order("POST", f"{app}/actions", {**settings, "action": "freeze"})
    unknown = await admin.order("POST", f"{app}/actions", {**web, "action": "explode"})
    assert (frozen["phase"], unknown["phase"]) == ("failed", "failed")
    assert "action.lua of freeze" in frozen["message"]
    assert "pause, restart, resume, scale" in unknown["message"]

    audited = await admin.items("/audit?action=application.run-action")
    assert {one["detail"]["action"] for one in audited} >= {"restart", "create-job", "paint"}


async def test_an_object_is_edited_within_what_the_owner_permits(
    linked_agent: LinkedAgent,
) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    app = await synced(linked_agent)
    web = {**DEPLOYMENT, "namespace": agent.destination}
    login = {**web, "group": "", "kind": "Secret", "name": "login"}

    edit = {**web, "patch": {"spec": {"replicas": 4}}}
    unlike_git = await admin.order("POST", f"{app}/objects/edit", edit)
    assert unlike_git["code"] == "not_allowed"
    assert "override" in unlike_git["message"]
    await allow(agent, override="true")
    await eventually(lambda: edits(linked_agent, app, edit), what="the policy that allows edits")
    shown = await admin.call("POST", f"{app}/objects/edit/preview", edit)
    assert shown["drift"] == ["spec.replicas"]
    stale = await admin.order("POST", f"{app}/objects/edit", {**edit, "resourceVersion": "1"})
    moved = {**web, "patch": {"metadata": {"name": "other"}}}
    assert stale["code"] == "conflict"
    assert (await admin.order("POST", f"{app}/objects/edit", moved))["code"] == "invalid"
    assert (await admin.order("POST", f"{app}/objects/edit", edit))["phase"] == "succeeded"
    deployed = await agent.get("apps/v1/deployments/web")
    assert deployed is not None
    assert deployed["spec"]["replicas"] == 4
    await agent.until(lambda app: app["status"]["sync"]["status"] == "OutOfSync", app="web")

    settings = {**login, "kind": "ConfigMap", "name": "settings"}
    live = await admin.call("GET", f"{app}/live?{query(agent, kind='ConfigMap', name='settings')}")
    assert live["data"]["colour"] != "red", "the control plane may not see it"
    patch = {"data": {**live["data"], "user": "ann"}}
    shown = await admin.call("POST", f"{app}/objects/edit/preview", {**settings, "patch": patch})
    assert [one["path"] for one in shown["changes"]] == ["data.user"]
    await admin.order("POST", f"{app}/objects/edit", {**settings, "patch": patch})
    kept = await agent.get("configmaps/settings")
    assert kept is not None
    assert kept["data"] == {"colour": "red", "user": "ann"}
    audited = await admin.items("/audit?action=application.edit-object")
    assert audited[0]["detail"]["fields"] == ["data.colour", "data.user"]
    assert "ann" not in str(audited[0]["detail"])


async def test_an_object_is_deleted_by_its_uid_within_what_the_owner_permits(
    linked_agent: LinkedAgent,
) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    app = await synced(linked_agent)
    login = {"kind": "Secret", "name": "login", "namespace": agent.destination}
    gone = await admin.call("POST", f"{app}/objects/delete/preview", login)
    assert [it.rpartition("/")[2] for it in gone["deletes"]] == ["login"]
    assert "its next sync creates it" in gone["notes"][0]
    with pytest.raises(AssertionError, match="expected the uid"):
        await admin.call("POST", f"{app}/objects/delete", login)
    other = await admin.order("POST", f"{app}/objects/delete", {**login, "uid": "another"})
    assert other["code"] == "conflict"
    await allow(agent, objectKinds="*, !Secret")
    refused = await eventually(lambda: refusal(linked_agent, app, login), what="the new policy")
    assert "objectKinds" in refused["message"]
    await allow(agent)
    named = {**login, "uid": await uid_of(agent, "secrets/login")}
    deleted = await eventually(lambda: success(linked_agent, app, named), what="the deletion")
    assert deleted["result"] == {"deleted": True}
    await agent.until_gone("secrets/login")
    stranger = {**login, "kind": "ServiceAccount", "name": "default"}
    stranger["uid"] = await uid_of(agent, "serviceaccounts/default")
    refused = await admin.order("POST", f"{app}/objects/delete", stranger)
    assert refused["code"] == "not_found"
    assert await agent.get("serviceaccounts/default") is not None


async def test_an_orphaned_object_is_deleted_where_the_project_asks_for_orphans(
    linked_agent: LinkedAgent,
) -> None:
    agent, admin = linked_agent.agent, linked_agent.admin
    app = await synced(linked_agent)
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/left"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "left"}}
    await agent.api.apply(path, body)
    others = {TRACKING_ID: f"theirs:/ConfigMap:{agent.destination}/theirs"}
    theirs = {**body, "metadata": {"name": "theirs", "annotations": others}}
    await agent.api.apply(path.replace("left", "theirs"), theirs)
    left = {"kind": "ConfigMap", "namespace": agent.destination, "name": "left"}
    named = {**left, "uid": await uid_of(agent, "configmaps/left")}
    stranger = await admin.order("POST", f"{app}/objects/delete", named)
    assert stranger["code"] == "not_found"

    await limit(agent, orphanedResources={"warn": False})
    await agent.patch_app("web", {"spec": {"project": "limited"}})

    async def orphan() -> Any:
        nodes = (await admin.call("GET", f"{app}/tree"))["nodes"]
        return {one["name"] for one in nodes if one.get("orphaned")} >= {"left", "theirs"}

    await eventually(orphan, what="the orphans in the tree")
    shown = await admin.call("POST", f"{app}/objects/delete/preview", left)
    assert "belongs to no application" in shown["notes"][0]
    edit = {**left, "patch": {"data": {"a": "1"}}}
    await allow(agent, override="true")

    async def is_not_found() -> bool:
        refused = await admin.order("POST", f"{app}/objects/edit", edit)
        return bool(refused["code"] == "not_found")

    await eventually(is_not_found, what="the refusal once the policy allows edits")
    deleted = await eventually(lambda: success(linked_agent, app, named), what="the deletion")
    assert deleted["result"] == {"deleted": True}
    await agent.until_gone("configmaps/left")

    foreign = {**left, "name": "theirs", "uid": await uid_of(agent, "configmaps/theirs")}
    kept = await admin.order("POST", f"{app}/objects/delete", foreign)
    assert kept["code"] == "not_allowed"
    assert "tracking id of the application theirs" in kept["message"]
    assert await agent.get("configmaps/theirs") is not None


async def uid_of(agent: AgentFixture, named: str) -> str:
    found = await agent.get(named)
    assert found is not None
    return str(found["metadata"]["uid"])


async def edits(linked_agent: LinkedAgent, app: str, body: dict[str, Any]) -> Any:
    """Whether edits are allowed: of the version 1 there is no object."""
    asked = {**body, "resourceVersion": "1"}
    ended = await linked_agent.admin.order("POST", f"{app}/objects/edit", asked)
    return ended["code"] == "conflict"


async def refusal(linked_agent: LinkedAgent, app: str, body: dict[str, str]) -> Any:
    """A deletion that the policy denies; before, the UID does."""
    admin = linked_agent.admin
    ended = await admin.order("POST", f"{app}/objects/delete", {**body, "uid": "another"})
    return ended if ended["code"] == "not_allowed" else None


async def success(linked_agent: LinkedAgent, app: str, body: dict[str, str]) -> Any:
    ended = await linked_agent.admin.order("POST", f"{app}/objects/delete", body)
    return ended if ended["phase"] == "succeeded" else None
