"""What people and their scripts read of an Application, as the API server gives it out."""

from __future__ import annotations

from typing import Any

from tests.flows.agent_fixture import APPLICATIONS, AgentFixture, conditions, config_map

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


def warned(app: dict[str, Any]) -> str:
    """All warnings about fields that this version does not act on."""
    found = app.get("status", {}).get("conditions", [])
    return "; ".join(one["message"] for one in found if one["type"] == "UnsupportedFieldWarning")


async def test_what_is_not_acted_on_is_a_condition_and_the_rest_is_synced(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    policy = {"automated": {}, "syncOptions": ["Magic=true"]}
    await agent.apply_app("web", "web", syncPolicy=policy, remark="nobody reads this")
    app = await agent.until_synced("web")
    for field in ("spec.remark", "Magic=true"):
        assert field in warned(app)


def held(app: dict[str, Any]) -> str:
    return conditions(app).get("AutoSyncHeldWarning", "")


async def test_an_unknown_field_of_the_policy_holds_automated_syncs_until_it_is_gone(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/a.yaml": config_map("a")})
    policy = {"automated": {"prunne": True}}
    await agent.apply_app("web", "web", syncPolicy=policy, remark="nobody reads this")
    app = await agent.until(held, app="web")
    assert "spec.syncPolicy.automated.prunne" in held(app)
    assert "did you mean prune?" in held(app)
    assert "spec.remark" in warned(app)
    assert await agent.get("configmaps/a") is None

    await agent.patch_app("web", {"spec": {"syncPolicy": {"automated": {"prunne": None}}}})

    app = await agent.until_synced("web")
    assert held(app) == ""


async def test_status_has_the_fields_that_scripts_of_argo_cd_read(agent: AgentFixture) -> None:
    sha = agent.commit({"web/web.yaml": DEPLOYMENT})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    status = (await agent.until_synced("web"))["status"]
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


async def test_kubectl_get_applications_shows_sync_and_health(agent: AgentFixture) -> None:
    sha = agent.commit({"web/a.yaml": config_map("a")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")
    table = await agent.api.table(APPLICATIONS.format(agent.namespace))
    names = [column["name"] for column in table["columnDefinitions"]]
    (row,) = table["rows"]
    shown = dict(zip(names, row["cells"], strict=True))
    assert (shown["Name"], shown["Sync Status"], shown["Health Status"]) == (
        "web",
        "Synced",
        "Healthy",
    )
    assert shown["Revision"] == sha
