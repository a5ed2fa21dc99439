"""What people and their scripts read of an Application, as the API server gives it out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.house import APPLICATIONS, House, conditions, config_map

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1.0"}]}
"""
HOOK = """
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, annotations: {argocd.argoproj.io/hook: PreSync}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: m, image: m}]}}}
"""


def warned(app: dict[str, Any]) -> str:
    """All warnings about fields that this version does not act on."""
    found = app.get("status", {}).get("conditions", [])
    return "; ".join(one["message"] for one in found if one["type"] == "UnsupportedFieldWarning")


IGNORED = [{"kind": "Pod", "jsonPointers": ["/x"]}]


async def test_what_is_not_acted_on_is_a_condition_and_the_rest_is_synced(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a")})
    policy = {"automated": {}, "syncOptions": ["Magic=true"]}
    await house.apply_app("web", "web", syncPolicy=policy, ignoreDifferences=IGNORED)
    app = await house.until_synced("web")
    for field in ("spec.ignoreDifferences", "Magic=true"):
        assert field in warned(app)


async def put_frozen(house: House, window: dict[str, Any]) -> None:
    """Make or change the project `frozen`, which permits everything but what its window forbids."""
    spec = {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "syncWindows": [window],
    }
    body = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": "frozen", "namespace": house.namespace},
        "spec": spec,
    }
    projects = f"/apis/argoproj.io/v1alpha1/namespaces/{house.namespace}/appprojects"
    await house.api.apply(f"{projects}/frozen", body)


def held(app: dict[str, Any]) -> str:
    return conditions(app).get("AutoSyncHeldWarning", "")


async def test_hooks_hold_automated_syncs_until_a_person_syncs(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a"), "web/hook.yaml": HOOK})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    app = await house.until(held, app="web")
    assert "Job migrate" in held(app)
    assert await house.get("configmaps/a") is None

    await house.patch_app("web", {"operation": {"sync": {}}})

    app = await house.until_synced("web")
    assert "Job migrate" in held(app)
    assert await house.get("batch/v1/jobs/migrate") is None


async def test_a_window_holds_syncs_by_hand_too_unless_it_lets_them_through(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a")})
    window = {"kind": "deny", "schedule": "0 0 1 1 *", "duration": "1h", "applications": ["*"]}
    await put_frozen(house, window)
    await house.apply_app("web", "web", project="frozen", syncPolicy=HEALING)
    await house.until(held, app="web")

    await house.patch_app("web", {"operation": {"sync": {}}})
    app = await house.until(lambda app: app["status"].get("operationState"), app="web")
    assert "manualSync: true" in app["status"]["operationState"]["message"]
    assert await house.get("configmaps/a") is None

    await put_frozen(house, {**window, "manualSync": True})
    await house.patch_app("web", {"operation": {"sync": {}}})
    await house.until_synced("web")


async def test_several_sources_are_refused_by_a_condition(house: House) -> None:
    source = {"repoURL": house.repository.url, "path": "web"}
    await house.apply_app("web", "web", sources=[source, source])
    app = await house.until(lambda app: app.get("status", {}).get("conditions"), app="web")
    (condition,) = app["status"]["conditions"]
    assert condition["type"] == "InvalidSpecError"
    assert "spec.sources" in condition["message"]


async def test_status_has_the_fields_that_scripts_of_argo_cd_read(house: House) -> None:
    sha = house.commit({"web/web.yaml": DEPLOYMENT})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    status = (await house.until_synced("web"))["status"]
    assert status["summary"]["images"] == ["registry.example/web:1.0"]
    assert status["sync"]["comparedTo"]["source"]["path"] == "web"
    assert status["sourceType"] == "Directory"
    (resource,) = status["resources"]
    assert {name: resource[name] for name in ("group", "version", "kind", "name", "status")} == {
        "group": "apps",
        "version": "v1",
        "kind": "Deployment",
        "name": "web",
        "status": "Synced",
    }
    (history,) = status["history"]
    assert (history["id"], history["revision"]) == (0, sha)
    assert history["deployedAt"] <= status["reconciledAt"]
    done = status["operationState"]
    assert (done["phase"], done["syncResult"]["revision"]) == ("Succeeded", sha)
    assert done["operation"]["initiatedBy"] == {"automated": True}
    assert done["startedAt"] <= done["finishedAt"]


async def test_kubectl_get_applications_shows_sync_and_health(house: House) -> None:
    sha = house.commit({"web/a.yaml": config_map("a")})
    await house.apply_app("web", "web", syncPolicy=HEALING)
    await house.until_synced("web")
    table = await house.api.table(APPLICATIONS.format(house.namespace))
    names = [column["name"] for column in table["columnDefinitions"]]
    (row,) = table["rows"]
    shown = dict(zip(names, row["cells"], strict=True))
    assert (shown["Name"], shown["Sync Status"], shown["Health Status"]) == (
        "web",
        "Synced",
        "Healthy",
    )
    assert shown["Revision"] == sha
