"""What people and their scripts read of an Application, as the API server gives it out."""

from __future__ import annotations

from typing import Any

import pytest

from tests.flows.house import APPLICATIONS, House, config_map

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


async def test_what_is_not_acted_on_is_a_condition_and_the_rest_is_synced(house: House) -> None:
    house.commit({"web/a.yaml": config_map("a"), "web/hook.yaml": HOOK})
    policy = {**HEALING, "syncOptions": ["Magic=true"]}
    await house.apply_app(
        "web", "web", syncPolicy=policy, ignoreDifferences=[{"kind": "Pod", "jsonPointers": ["/x"]}]
    )
    app = await house.until_synced("web")
    for field in ("spec.ignoreDifferences", "Magic=true", "Job migrate"):
        assert field in warned(app)
    assert await house.get("batch/v1/jobs/migrate") is None


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
