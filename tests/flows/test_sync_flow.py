"""Pushes become live objects: the handlers of sync on real parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from bus.events import SyncApp, TerminateOperation
from bus.identity import AppKey
from tests.flows.agent_fixture import (
    AgentFixture,
    conditions,
    config_map,
    gate,
    is_synced,
    open_gate,
)
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
TRACKING = "argocd.argoproj.io/tracking-id"
FINALIZER = "resources-finalizer.argocd.argoproj.io"


MAP_A = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}


def state(app: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = app.get("status", {}).get("operationState", {})
    return found


def phase(app: dict[str, Any]) -> str:
    return str(state(app).get("phase", ""))


def results(app: dict[str, Any]) -> dict[str, str]:
    """Name -> message of the last operation."""
    found = state(app).get("syncResult", {}).get("resources", [])
    return {one["name"]: one["message"] for one in found}


def synced_to(sha: str) -> Callable[[dict[str, Any]], bool]:
    return lambda app: is_synced(app) and bool(app["status"]["sync"]["revision"] == sha)


def ended(app: dict[str, Any]) -> bool:
    return phase(app) in ("Succeeded", "Failed", "Error")


def in_wave(manifest: str, wave: int) -> str:
    annotation = f"annotations: {{argocd.argoproj.io/sync-wave: '{wave}'}}"
    return manifest.replace("metadata: {name:", f"metadata: {{{annotation}, name:")


def key(agent: AgentFixture, name: str) -> AppKey:
    return AppKey(agent.namespace, name)


def healed(times: int) -> Callable[[dict[str, Any]], bool]:
    def holds(app: dict[str, Any]) -> bool:
        sync = state(app).get("operation", {}).get("sync", {})
        return is_synced(app) and sync.get("autoHealAttemptsCount", 0) == times

    return holds


async def data_of(agent: AgentFixture, name: str) -> dict[str, Any] | None:
    found = await agent.get(f"configmaps/{name}")
    return None if found is None else dict(found.get("data", {}))


async def test_a_new_application_becomes_live_objects(agent: AgentFixture) -> None:
    sha = agent.commit({"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until_synced("web")
    assert app["status"]["sync"]["revision"] == sha
    assert [one["revision"] for one in app["status"]["history"]] == [sha]
    assert (phase(app), results(app)) == ("Succeeded", {"a": "created", "b": "created"})
    live = await agent.get("configmaps/a")
    assert live is not None
    assert live["metadata"]["annotations"][TRACKING].startswith("web:/ConfigMap:")


async def test_a_push_applies_what_it_changes_and_prunes_what_it_removes(
    agent: AgentFixture,
) -> None:
    agent.commit({f"web/{name}.yaml": config_map(name, key="1") for name in "abc"})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    untouched = await agent.get("configmaps/c")
    sha = agent.commit({"web/a.yaml": config_map("a", key="2"), "web/b.yaml": None})
    app = await agent.until(synced_to(sha), app="web")
    assert results(app) == {"a": "configured", "b": "pruned", "c": "unchanged"}
    assert await data_of(agent, "a") == {"key": "2"}
    assert await agent.get("configmaps/c") == untouched


async def test_an_edit_in_the_cluster_is_healed(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/a"
    await agent.api.patch(path, {"data": {"key": "edited"}})

    async def is_healed() -> bool:
        return await data_of(agent, "a") == {"key": "1"}

    await eventually(is_healed)
    app = await agent.until(lambda app: is_synced(app) and results(app).keys() == {"a"}, app="web")
    assert len(app["status"]["history"]) == 1


async def test_an_edit_soon_after_is_healed_after_a_back_off(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/a"
    for heals in (1, 2):
        await agent.api.patch(path, {"data": {"key": "edited"}})
        await agent.until(healed(heals), app="web")
    assert await data_of(agent, "a") == {"key": "1"}


async def test_without_self_heal_an_edit_is_only_shown(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web", syncPolicy={"automated": {}})
    await agent.until_synced("web")
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/a"
    await agent.api.patch(path, {"data": {"key": "edited"}})
    await agent.until(lambda app: app["status"]["sync"]["status"] == "OutOfSync", app="web")
    assert await data_of(agent, "a") == {"key": "edited"}


async def test_without_auto_sync_a_person_starts_it(agent: AgentFixture) -> None:
    first = agent.commit({"web/a.yaml": config_map("a", key="1")})
    agent.commit({"web/a.yaml": config_map("a", key="2")})
    await agent.apply_app("web", "web")
    app = await agent.until(lambda app: app.get("status", {}).get("sync"), app="web")
    assert app["status"]["sync"]["status"] == "OutOfSync"
    await agent.patch_app("web", {"operation": {"sync": {"revision": first}}})
    app = await agent.until(
        lambda app: ended(app) and app["status"]["sync"]["status"] == "OutOfSync", app="web"
    )
    assert "operation" not in app
    assert state(app)["syncResult"]["revision"] == first
    assert await data_of(agent, "a") == {"key": "1"}


@pytest.mark.parametrize(
    ("sync", "logged"),
    [({"revision": "no-such-branch"}, "no-such-branch"), ({"manifests": ["x"]}, "manifests")],
)
async def test_a_sync_that_cannot_be_done_says_why(
    agent: AgentFixture, sync: dict[str, Any], logged: str
) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web")
    await agent.until(lambda app: app.get("status", {}).get("sync"), app="web")
    await agent.patch_app("web", {"operation": {"sync": sync}})
    app = await agent.until(ended, app="web")
    assert (phase(app), "operation" in app) == ("Error", False)
    assert logged in state(app)["message"]
    assert await agent.get("configmaps/a") is None


async def test_a_command_syncs_once_however_often_it_comes(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web")
    await agent.until(lambda app: app.get("status", {}).get("sync"), app="web")
    command = SyncApp(app=key(agent, "web"), id="c1", actor="anna")
    await agent.publish(command)
    app = await agent.until(lambda app: ended(app) and is_synced(app), app="web")
    await agent.publish(command, SyncApp(app=key(agent, "web"), id="c2", actor="anna"))
    app = await agent.until(
        lambda app: (
            ended(app) and {"name": "commandId", "value": "c2"} in state(app)["operation"]["info"]
        ),
        app="web",
    )
    assert state(app)["operation"]["initiatedBy"] == {"username": "anna"}
    assert len(app["status"]["history"]) == 2


async def test_a_dry_run_changes_nothing_and_says_so(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web")
    await agent.until(lambda app: app.get("status", {}).get("sync"), app="web")
    await agent.patch_app("web", {"operation": {"sync": {"dryRun": True}}})
    app = await agent.until(ended, app="web")
    assert results(app) == {"a": "created (dry run)"}
    assert app["status"]["sync"]["status"] == "OutOfSync"
    assert await agent.get("configmaps/a") is None


async def test_only_the_named_objects_are_synced(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": config_map("b")})
    await agent.apply_app("web", "web")
    await agent.until(lambda app: app.get("status", {}).get("sync"), app="web")
    named = {"kind": "ConfigMap", "name": "a"}
    await agent.patch_app("web", {"operation": {"sync": {"resources": [named]}}})
    app = await agent.until(ended, app="web")
    assert (results(app), app["status"]["sync"]["status"]) == ({"a": "created"}, "OutOfSync")
    assert await agent.get("configmaps/b") is None


WORKLOAD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: first}
spec:
  minReadySeconds: 500
  selector: {matchLabels: {app: first}}
  template:
    metadata: {labels: {app: first}}
    spec: {containers: [{name: main, image: example/none}]}
"""


async def test_a_wave_waits_for_the_health_of_the_one_before_and_can_be_terminated(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": WORKLOAD, "web/b.yaml": in_wave(config_map("b"), 1)})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until(lambda app: "healthy state" in state(app).get("message", ""), app="web")
    assert (phase(app), results(app)) == ("Running", {"first": "created"})
    assert await agent.get("configmaps/b") is None
    await agent.publish(TerminateOperation(app=key(agent, "web"), id="t1", actor="anna"))
    app = await agent.until(ended, app="web")
    assert (phase(app), state(app)["message"]) == ("Failed", "Operation terminated")
    assert await agent.get("configmaps/b") is None


async def test_a_wave_follows_when_the_one_before_is_healthy(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": gate("first"), "web/b.yaml": in_wave(config_map("b"), 1)})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until(lambda app: "healthy state" in state(app).get("message", ""), app="web")
    assert await agent.get("configmaps/b") is None
    await open_gate(agent, "first")
    app = await agent.until(ended, app="web")
    assert (phase(app), results(app)) == ("Succeeded", {"first": "created", "b": "created"})


async def test_the_namespace_is_created_where_that_is_asked_for(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    policy = {**HEALING, "syncOptions": ["CreateNamespace=true"]}
    await agent.apply_app("web", "web", syncPolicy=policy)
    app = await agent.until_synced("web")
    assert "a" in results(app)


REFUSED = """
apiVersion: v1
kind: Service
metadata: {name: bad}
spec: {ports: [{port: 700000}]}
"""


async def test_a_rejected_object_says_why_and_the_others_are_applied(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": REFUSED, "web/b.yaml": config_map("b")})
    policy = {"automated": {}, "retry": {"limit": 0}}
    await agent.apply_app("web", "web", syncPolicy=policy)
    app = await agent.until(ended, app="web")
    assert phase(app) == "Failed"
    assert results(app)["b"] == "created"
    assert "700000" in results(app)["bad"]
    assert "bad" in conditions(app)["SyncError"]


async def test_a_failed_sync_is_tried_again_after_its_back_off(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": REFUSED})
    backoff = {"duration": "10ms", "factor": 1, "maxDuration": "20ms"}
    policy = {"automated": {}, "retry": {"limit": 2, "backoff": backoff}}
    await agent.apply_app("web", "web", syncPolicy=policy)
    app = await agent.until(ended, app="web")
    assert (phase(app), state(app)["retryCount"]) == ("Failed", 2)


async def test_a_fix_does_not_wait_for_the_next_try_of_what_it_mends(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": REFUSED, "web/b.yaml": config_map("b")})
    backoff = {"duration": "1h", "factor": 1, "maxDuration": "1h"}
    policy = {**HEALING, "retry": {"limit": 2, "backoff": backoff}}
    await agent.apply_app("web", "web", syncPolicy=policy)
    await agent.until(lambda app: "; retry 1 of 2" in state(app).get("message", ""), app="web")
    sha = agent.commit({"web/a.yaml": None})
    app = await agent.until(synced_to(sha), app="web")
    assert [one["revision"] for one in app["status"]["history"]] == [sha]


DELETED = "deletionTimestamp"
PAUSE = {"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": "true"}}}
GO_ON = {"metadata": {"annotations": {"argocd.argoproj.io/skip-reconcile": None}}}
OFF = {"spec": {"syncPolicy": {"automated": {"enabled": False}}}}
ON = {"spec": {"syncPolicy": {"automated": {"enabled": None}}}}


async def test_an_application_to_skip_is_left_alone_until_it_goes_on(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1"), "other/b.yaml": config_map("b")})
    await agent.apply_app("web", "web", metadata={"finalizers": [FINALIZER]}, syncPolicy=HEALING)
    await agent.apply_app("other", "other", syncPolicy=HEALING)
    before = await agent.until_synced("web")
    await agent.patch_app("web", PAUSE)
    sha = agent.commit({"web/a.yaml": config_map("a", key="2"), "other/b.yaml": config_map("c")})
    await agent.until(synced_to(sha), app="other")
    await agent.delete_app("web")
    await agent.patch_app("other", {"operation": {"sync": {}}})
    await agent.until(lambda app: "operation" not in app and ended(app), app="other")
    app = await agent.app("web")
    assert (app["status"], DELETED in app["metadata"]) == (before["status"], True)
    assert await data_of(agent, "a") == {"key": "1"}
    await agent.patch_app("web", GO_ON)

    async def is_gone() -> bool:
        return await data_of(agent, "a") is None

    await eventually(is_gone)


@pytest.mark.parametrize(
    ("holding", "lifting"),
    [
        pytest.param(OFF, ON, id="auto-sync off"),
        pytest.param(
            {"spec": {"syncPolicy": {"automated": {"onMondays": False}}}},
            {"spec": {"syncPolicy": {"automated": {"onMondays": None}}}},
            id="a field that is not acted on",
        ),
    ],
)
async def test_a_hold_also_stops_the_next_try_of_a_failed_sync(
    agent: AgentFixture, holding: dict[str, Any], lifting: dict[str, Any]
) -> None:
    agent.commit({"web/a.yaml": REFUSED})
    backoff = {"duration": "1h", "factor": 1, "maxDuration": "1h"}
    policy = {**HEALING, "retry": {"limit": 2, "backoff": backoff}}
    await agent.apply_app("web", "web", syncPolicy=policy)
    await agent.until(waits_for_its_next_try, app="web")
    await agent.patch_app("web", holding)
    app = await agent.until(ended, app="web")
    assert phase(app) == "Failed"
    assert "not tried again while it is held" in state(app)["message"]
    await agent.patch_app("web", lifting)
    await agent.until(waits_for_its_next_try, app="web")


def waits_for_its_next_try(app: dict[str, Any]) -> bool:
    return "; retry 1 of 2" in state(app).get("message", "")


async def test_an_earlier_revision_can_be_synced_instead_of_a_next_try_that_is_held(
    agent: AgentFixture,
) -> None:
    first = agent.commit({"web/b.yaml": config_map("b", key="1")})
    backoff = {"duration": "1h", "factor": 1, "maxDuration": "1h"}
    policy = {**HEALING, "retry": {"limit": 2, "backoff": backoff}}
    await agent.apply_app("web", "web", syncPolicy=policy)
    await agent.until(synced_to(first), app="web")
    agent.commit({"web/a.yaml": REFUSED, "web/b.yaml": config_map("b", key="2")})
    await agent.until(waits_for_its_next_try, app="web")
    await agent.patch_app("web", {**OFF, "operation": {"sync": {"revision": first}}})
    await agent.until(
        lambda app: phase(app) == "Succeeded" and len(app["status"]["history"]) == 2, app="web"
    )
    assert await data_of(agent, "b") == {"key": "1"}


async def test_a_conflict_names_the_other_manager_and_git_wins(agent: AgentFixture) -> None:
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/a"
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    await agent.api.apply(path, {**theirs, "data": {"key": "theirs"}})
    agent.commit({"web/a.yaml": config_map("a", key="ours")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until_synced("web")
    assert "took fields over" in results(app)["a"]
    assert ".data.key" in results(app)["a"]
    assert await data_of(agent, "a") == {"key": "ours"}


async def test_nothing_is_pruned_where_git_renders_to_nothing(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a"), "web/readme.md": "x"})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    agent.commit({"web/a.yaml": None})
    app = await agent.until(lambda app: "SyncError" in conditions(app), app="web")
    assert "wipe out all resources" in conditions(app)["SyncError"]
    assert await agent.get("configmaps/a") is not None


async def test_what_is_broken_is_refused_while_the_old_objects_stay(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    agent.commit({"web/a.yaml": config_map("a") + "broken: [", "web/b.yaml": config_map("b")})
    app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    assert "a.yaml" in conditions(app)["ComparisonError"]
    assert (await data_of(agent, "a"), await agent.get("configmaps/b")) == ({"key": "1"}, None)
    sha = agent.commit({"web/a.yaml": config_map("a", key="2")})
    app = await agent.until(synced_to(sha), app="web")
    assert conditions(app) == {}


async def test_deleting_the_application_deletes_what_it_deployed(agent: AgentFixture) -> None:
    keep = config_map("kept").replace(
        "{name:", "{annotations: {argocd.argoproj.io/sync-options: Delete=false}, name:"
    )
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": keep})
    await agent.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [FINALIZER]})
    await agent.until_synced("web")
    await agent.delete_app("web")
    await eventually(lambda: agent.known("web") is None)
    await agent.until_gone("configmaps/a")
    assert await agent.get("configmaps/kept") is not None


DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: carts.TOKEN.example}
spec:
  group: TOKEN.example
  scope: Namespaced
  names: {kind: Cart, plural: carts}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
CART = """
apiVersion: TOKEN.example/v1
kind: Cart
metadata: {name: one}
"""


async def test_a_definition_and_its_object_come_in_one_sync(agent: AgentFixture) -> None:
    token = agent.namespace
    agent.commit(
        {
            "web/a.yaml": CART.replace("TOKEN", token),
            "web/b.yaml": DEFINITION.replace("TOKEN", token),
        }
    )
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until_synced("web")
    assert phase(app) == "Succeeded"
    assert await agent.get(f"{token}.example/v1/carts/one") is not None
    await agent.api.delete(
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/carts.{token}.example"
    )


async def test_a_sync_of_four_objects_costs_four_applies_and_one_status_write(
    agent: AgentFixture,
) -> None:
    agent.commit({f"web/{name}.yaml": config_map(name) for name in "abcd"})
    before = written(agent)
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    await until_written(agent, before, {"patch 201": 4, "patch 200": 1})
    agent.commit({"web/a.yaml": config_map("a", key="2")})
    await agent.until(lambda app: results(app).get("a") == "configured", app="web")
    await until_written(agent, before, {"patch 201": 4, "patch 200": 3})


async def test_an_edit_by_hand_is_healed_by_one_write_to_the_object(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a", key="1", other="1")})
    before = written(agent)
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    await until_written(agent, before, {"patch 201": 1, "patch 200": 1})
    path = f"/api/v1/namespaces/{agent.destination}/configmaps/a"

    await agent.api.apply(path, {**MAP_A, "data": {"key": "edited", "added": "x"}}, "kubectl-edit")

    app = await agent.until(lambda app: "took fields over" in results(app).get("a", ""), app="web")
    assert '"kubectl-edit" wrote data.key' in results(app)["a"]
    assert await data_of(agent, "a") == {"key": "1", "other": "1", "added": "x"}
    # Of the two more the other one is the status.
    await until_written(agent, before, {"patch 201": 1, "patch 200": 3})


async def until_written(
    agent: AgentFixture, before: Counter[str], expected: dict[str, int]
) -> None:
    """Wait until these requests are counted: one is when its answer is read, after its effect."""
    await eventually(lambda: written(agent) - before == expected, what=f"the writes {expected}")


def written(agent: AgentFixture) -> Counter[str]:
    """Verb and code -> requests of the agent that are no reads."""
    (metric,) = agent.parts.metrics.kube_requests.collect()
    labels = [(one.labels, one.value) for one in metric.samples if one.name.endswith("_total")]
    return Counter(
        {
            f"{at['verb']} {at['response_code']}": int(value)
            for at, value in labels
            if at["verb"] not in ("get", "list", "watch")
        }
    )
