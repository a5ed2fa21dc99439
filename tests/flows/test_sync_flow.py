"""Pushes become live objects: the rooms of sync on real parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bus.events import SyncApp, TerminateOperation
from bus.identity import AppKey
from tests.flows.house import House, conditions, config_map, is_synced
from tests.support import eventually

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}
TRACKING = "argocd.argoproj.io/tracking-id"
FINALIZER = "resources-finalizer.argocd.argoproj.io"


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


def key(house: House, name: str) -> AppKey:
    return AppKey(house.namespace, name)


def healed(times: int) -> Callable[[dict[str, Any]], bool]:
    def holds(app: dict[str, Any]) -> bool:
        sync = state(app).get("operation", {}).get("sync", {})
        return is_synced(app) and sync.get("autoHealAttemptsCount", 0) == times

    return holds


async def data_of(house: House, name: str) -> dict[str, Any] | None:
    found = await house.get(f"configmaps/{name}")
    return None if found is None else dict(found.get("data", {}))


async def test_a_new_application_becomes_live_objects(house: House) -> None:
    sha = house.commit({"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    app = await house.until_synced("web")
    assert app["status"]["sync"]["revision"] == sha
    assert [one["revision"] for one in app["status"]["history"]] == [sha]
    assert (phase(app), results(app)) == ("Succeeded", {"a": "created", "b": "created"})
    live = await house.get("configmaps/a")
    assert live is not None
    assert live["metadata"]["annotations"][TRACKING].startswith("web:/ConfigMap:")


async def test_a_push_applies_what_it_changes_and_prunes_what_it_removes(house: House) -> None:
    house.commit({f"web/{name}.yaml": config_map(name, key="1") for name in "abc"})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
    untouched = await house.get("configmaps/c")
    sha = house.commit({"web/a.yaml": config_map("a", key="2"), "web/b.yaml": None})
    app = await house.until(synced_to(sha), app="web")
    assert results(app) == {"a": "configured", "b": "pruned", "c": "unchanged"}
    assert await data_of(house, "a") == {"key": "2"}
    assert await house.get("configmaps/c") == untouched


async def test_an_edit_in_the_cluster_is_healed(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a", key="1"), "web/b.yaml": config_map("b")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
    path = f"/api/v1/namespaces/{house.destination}/configmaps/a"
    await house.api.patch(path, {"data": {"key": "edited"}})

    async def is_healed() -> bool:
        return await data_of(house, "a") == {"key": "1"}

    await eventually(is_healed)
    app = await house.until(lambda app: is_synced(app) and results(app).keys() == {"a"}, app="web")
    assert len(app["status"]["history"]) == 1


async def test_an_edit_soon_after_is_healed_after_a_back_off(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
    path = f"/api/v1/namespaces/{house.destination}/configmaps/a"
    for heals in (1, 2):
        await house.api.patch(path, {"data": {"key": "edited"}})
        await house.until(healed(heals), app="web")
    assert await data_of(house, "a") == {"key": "1"}


async def test_without_self_heal_an_edit_is_only_shown(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web", syncPolicy={"automated": {}})
    await house.until_synced("web")
    path = f"/api/v1/namespaces/{house.destination}/configmaps/a"
    await house.api.patch(path, {"data": {"key": "edited"}})
    await house.until(lambda app: app["status"]["sync"]["status"] == "OutOfSync", app="web")
    assert await data_of(house, "a") == {"key": "edited"}


async def test_without_auto_sync_a_person_starts_it(house: House) -> None:
    first = house.commit({"web/a.yaml": config_map("a", key="1")})
    house.commit({"web/a.yaml": config_map("a", key="2")})
    await house.apply_app("web", "web")
    app = await house.until(lambda app: app.get("status", {}).get("sync"), app="web")
    assert app["status"]["sync"]["status"] == "OutOfSync"
    await house.patch_app("web", {"operation": {"sync": {"revision": first}}})
    app = await house.until(
        lambda app: ended(app) and app["status"]["sync"]["status"] == "OutOfSync", app="web"
    )
    assert "operation" not in app
    assert state(app)["syncResult"]["revision"] == first
    assert await data_of(house, "a") == {"key": "1"}


@pytest.mark.parametrize(
    ("sync", "said"),
    [({"revision": "no-such-branch"}, "no-such-branch"), ({"manifests": ["x"]}, "manifests")],
)
async def test_a_sync_that_cannot_be_done_says_why(
    house: House, sync: dict[str, Any], said: str
) -> None:
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web")
    await house.until(lambda app: app.get("status", {}).get("sync"), app="web")
    await house.patch_app("web", {"operation": {"sync": sync}})
    app = await house.until(ended, app="web")
    assert (phase(app), "operation" in app) == ("Error", False)
    assert said in state(app)["message"]
    assert await house.get("configmaps/a") is None


async def test_a_command_syncs_once_however_often_it_comes(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web")
    await house.until(lambda app: app.get("status", {}).get("sync"), app="web")
    command = SyncApp(app=key(house, "web"), id="c1", actor="anna")
    await house.publish(command)
    app = await house.until(lambda app: ended(app) and is_synced(app), app="web")
    await house.publish(command, SyncApp(app=key(house, "web"), id="c2", actor="anna"))
    app = await house.until(
        lambda app: (
            ended(app) and {"name": "commandId", "value": "c2"} in state(app)["operation"]["info"]
        ),
        app="web",
    )
    assert state(app)["operation"]["initiatedBy"] == {"username": "anna"}
    assert len(app["status"]["history"]) == 2


async def test_a_dry_run_changes_nothing_and_says_so(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web")
    await house.until(lambda app: app.get("status", {}).get("sync"), app="web")
    await house.patch_app("web", {"operation": {"sync": {"dryRun": True}}})
    app = await house.until(ended, app="web")
    assert results(app) == {"a": "created (dry run)"}
    assert app["status"]["sync"]["status"] == "OutOfSync"
    assert await house.get("configmaps/a") is None


async def test_only_the_named_objects_are_synced(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a"), "web/b.yaml": config_map("b")})
    await house.apply_app("web", "web")
    await house.until(lambda app: app.get("status", {}).get("sync"), app="web")
    named = {"kind": "ConfigMap", "name": "a"}
    await house.patch_app("web", {"operation": {"sync": {"resources": [named]}}})
    app = await house.until(ended, app="web")
    assert (results(app), app["status"]["sync"]["status"]) == ({"a": "created"}, "OutOfSync")
    assert await house.get("configmaps/b") is None


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
    house: House,
) -> None:
    house.commit({"web/a.yaml": WORKLOAD, "web/b.yaml": in_wave(config_map("b"), 1)})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    app = await house.until(lambda app: "healthy state" in state(app).get("message", ""), app="web")
    assert (phase(app), results(app)) == ("Running", {"first": "created"})
    assert await house.get("configmaps/b") is None
    await house.publish(TerminateOperation(app=key(house, "web"), id="t1", actor="anna"))
    app = await house.until(ended, app="web")
    assert (phase(app), state(app)["message"]) == ("Failed", "Operation terminated")
    assert await house.get("configmaps/b") is None


SLOW = WORKLOAD.replace("  minReadySeconds: 500\n", "").replace(
    "labels: {app: first}", 'labels: {app: first, playground/slow: "4s"}'
)


async def test_a_wave_follows_when_the_one_before_is_healthy(house: House) -> None:
    house.commit({"web/a.yaml": SLOW, "web/b.yaml": in_wave(config_map("b"), 1)})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until(lambda app: "healthy state" in state(app).get("message", ""), app="web")
    assert await house.get("configmaps/b") is None
    app = await house.until(ended, app="web")
    assert (phase(app), results(app)) == ("Succeeded", {"first": "created", "b": "created"})


async def test_the_namespace_is_created_where_that_is_asked_for(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a")})
    policy = {**HEALING, "syncOptions": ["CreateNamespace=true"]}
    await house.apply_app("web", "web", syncPolicy=policy)
    app = await house.until_synced("web")
    assert "a" in results(app)


REFUSED = """
apiVersion: v1
kind: Service
metadata: {name: bad}
spec: {ports: [{port: 700000}]}
"""


async def test_a_rejected_object_says_why_and_the_others_are_applied(house: House) -> None:
    house.commit({"web/a.yaml": REFUSED, "web/b.yaml": config_map("b")})
    policy = {"automated": {}, "retry": {"limit": 0}}
    await house.apply_app("web", "web", syncPolicy=policy)
    app = await house.until(ended, app="web")
    assert phase(app) == "Failed"
    assert results(app)["b"] == "created"
    assert "700000" in results(app)["bad"]
    assert "bad" in conditions(app)["SyncError"]


async def test_a_failed_sync_is_tried_again_after_its_back_off(house: House) -> None:
    house.commit({"web/a.yaml": REFUSED})
    backoff = {"duration": "10ms", "factor": 1, "maxDuration": "20ms"}
    policy = {"automated": {}, "retry": {"limit": 2, "backoff": backoff}}
    await house.apply_app("web", "web", syncPolicy=policy)
    app = await house.until(ended, app="web")
    assert (phase(app), state(app)["retryCount"]) == ("Failed", 2)


async def test_a_fix_does_not_wait_for_the_next_try_of_what_it_mends(house: House) -> None:
    house.commit({"web/a.yaml": REFUSED, "web/b.yaml": config_map("b")})
    backoff = {"duration": "1h", "factor": 1, "maxDuration": "1h"}
    policy = {**HEALING, "retry": {"limit": 2, "backoff": backoff}}
    await house.apply_app("web", "web", syncPolicy=policy)
    await house.until(lambda app: "; retry 1 of 2" in state(app).get("message", ""), app="web")
    sha = house.commit({"web/a.yaml": None})
    app = await house.until(synced_to(sha), app="web")
    assert [one["revision"] for one in app["status"]["history"]] == [sha]


async def test_a_conflict_names_the_other_manager_and_git_wins(house: House) -> None:
    path = f"/api/v1/namespaces/{house.destination}/configmaps/a"
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    await house.api.apply(path, {**theirs, "data": {"key": "theirs"}})
    house.commit({"web/a.yaml": config_map("a", key="ours")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    app = await house.until_synced("web")
    assert "took fields over" in results(app)["a"]
    assert ".data.key" in results(app)["a"]
    assert await data_of(house, "a") == {"key": "ours"}


async def test_nothing_is_pruned_where_git_renders_to_nothing(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a"), "web/readme.md": "x"})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
    house.commit({"web/a.yaml": None})
    app = await house.until(lambda app: "SyncError" in conditions(app), app="web")
    assert "wipe out all resources" in conditions(app)["SyncError"]
    assert await house.get("configmaps/a") is not None


async def test_what_is_broken_is_refused_while_the_old_objects_stay(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a", key="1")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
    house.commit({"web/a.yaml": config_map("a") + "broken: [", "web/b.yaml": config_map("b")})
    app = await house.until(lambda app: "ComparisonError" in conditions(app), app="web")
    assert "a.yaml" in conditions(app)["ComparisonError"]
    assert (await data_of(house, "a"), await house.get("configmaps/b")) == ({"key": "1"}, None)
    sha = house.commit({"web/a.yaml": config_map("a", key="2")})
    app = await house.until(synced_to(sha), app="web")
    assert conditions(app) == {}


async def test_deleting_the_application_deletes_what_it_deployed(house: House) -> None:
    keep = config_map("kept").replace(
        "{name:", "{annotations: {argocd.argoproj.io/sync-options: Delete=false}, name:"
    )
    house.commit({"web/a.yaml": config_map("a"), "web/b.yaml": keep})
    await house.apply_app("web", "web", syncPolicy=HEALING, metadata={"finalizers": [FINALIZER]})
    await house.until_synced("web")
    await house.delete_app("web")
    await eventually(lambda: house.known("web") is None)
    assert await house.get("configmaps/a") is None
    assert await house.get("configmaps/kept") is not None


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


async def test_a_definition_and_its_object_come_in_one_sync(house: House) -> None:
    token = house.namespace
    house.commit(
        {
            "web/a.yaml": CART.replace("TOKEN", token),
            "web/b.yaml": DEFINITION.replace("TOKEN", token),
        }
    )
    await house.apply_app("web", "web", syncPolicy=HEALING)
    app = await house.until_synced("web")
    assert phase(app) == "Succeeded"
    assert await house.get(f"{token}.example/v1/carts/one") is not None
    await house.api.delete(
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/carts.{token}.example"
    )


async def test_a_sync_of_four_objects_costs_four_applies_and_one_status_write(
    house: House,
) -> None:
    house.commit({f"web/{name}.yaml": config_map(name) for name in "abcd"})
    before = written(house)
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
    assert written(house) - before == 5
    house.commit({"web/a.yaml": config_map("a", key="2")})
    await house.until(lambda app: results(app).get("a") == "configured", app="web")
    assert written(house) - before == 7


def written(house: House) -> float:
    """Requests of the agent that are no reads."""
    (metric,) = house.parts.metrics.kube_requests.collect()
    reads = ("GET", "get", "list", "watch")
    return sum(
        sample.value
        for sample in metric.samples
        if sample.name.endswith("_total") and not set(sample.labels.values()) & set(reads)
    )
