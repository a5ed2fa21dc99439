"""Fields that ignoreDifferences names: no difference, no automated sync, and what a sync does."""

from __future__ import annotations

from typing import Any

from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.flows.test_exclusions import put_settings
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  paused: true
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: web, image: "registry.example/web:1.0"}
"""
OF_DEPLOYMENTS = {"group": "apps", "kind": "Deployment"}


async def patch(agent: AgentFixture, name: str, body: dict[str, Any], manager: str) -> None:
    """Change an object of the destination as another manager."""
    path = f"/{name.format(f'namespaces/{agent.destination}')}"
    await agent.parts.client.merge_patch(path, body, {"fieldManager": manager})


async def scale(agent: AgentFixture, replicas: int) -> None:
    """Scale as an autoscaler does."""
    name = "apis/apps/v1/{}/deployments/web/scale"
    await patch(agent, name, {"spec": {"replicas": replicas}}, "kube-controller-manager")


async def spec_of(agent: AgentFixture) -> dict[str, Any]:
    live = await agent.get("apps/v1/deployments/web")
    assert live is not None
    found: dict[str, Any] = live["spec"]
    return found


async def drift_is_healed(agent: AgentFixture, health: str = "Suspended") -> None:
    """Change another object and wait for its heal: what came before has been looked at too."""
    await patch(agent, "api/v1/{}/configmaps/a", {"data": {"key": "drift"}}, "somebody")

    async def healed() -> bool:
        live = await agent.get("configmaps/a")
        return live is not None and live["data"]["key"] == "git"

    await eventually(healed, within=120)
    await agent.until(
        lambda app: is_synced(app, health=health) and "operation" not in app, app="web"
    )


async def sync_by_hand(agent: AgentFixture) -> None:
    before = await agent.app("web")
    began = before["status"]["operationState"]["startedAt"]
    sync = {"syncOptions": before["spec"]["syncPolicy"].get("syncOptions", [])}
    await agent.patch_app("web", {"operation": {"sync": sync}})

    def ended(app: dict[str, Any]) -> bool:
        state = app["status"]["operationState"]
        by_hand = not state["operation"].get("initiatedBy", {}).get("automated")
        return by_hand and state["phase"] == "Succeeded" and state["startedAt"] >= began

    await agent.until(ended, app="web")


async def test_an_ignored_difference_is_not_healed_and_a_sync_by_hand_writes_it(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/web.yaml": DEPLOYMENT, "web/a.yaml": config_map("a", key="git")})
    rule = {**OF_DEPLOYMENTS, "jsonPointers": ["/spec/replicas", "spec.paused"]}
    await agent.apply_app("web", "web", syncPolicy=HEALING, ignoreDifferences=[rule])
    app = await agent.until_synced("web", health="Suspended")
    assert "spec.ignoreDifferences[0].jsonPointers[1]" in conditions(app)["IgnoreRuleWarning"]
    assert app["status"]["sync"]["comparedTo"]["ignoreDifferences"] == [rule]

    await scale(agent, 3)
    await drift_is_healed(agent)
    assert (await spec_of(agent))["replicas"] == 3

    await sync_by_hand(agent)
    assert (await spec_of(agent))["replicas"] == 1


def template(image: str) -> dict[str, Any]:
    return {"spec": {"template": {"spec": {"containers": [{"name": "web", "image": image}]}}}}


async def image_of(agent: AgentFixture) -> str:
    container = (await spec_of(agent))["template"]["spec"]["containers"][0]
    return str(container["image"])


IMAGE = '.spec.template.spec.containers[] | select(.name == "web") | .image'
ENDLESS = "def f: f; f"


async def test_expressions_and_trusted_managers_are_ignored_and_a_bad_expression_is_named(
    agent: AgentFixture,
) -> None:
    agent.commit({"web/web.yaml": DEPLOYMENT, "web/a.yaml": config_map("a", key="git")})
    agent.commit({"other/b.yaml": config_map("b")})
    rule = {**OF_DEPLOYMENTS, "jqPathExpressions": [IMAGE]}
    rule |= {"managedFieldsManagers": ["kube-controller-manager"]}
    await agent.apply_app("web", "web", syncPolicy=HEALING, ignoreDifferences=[rule])
    await agent.until_synced("web", health="Suspended")

    await scale(agent, 3)
    web = "apis/apps/v1/{}/deployments/web"
    await patch(agent, web, template("registry.example/web:2.0"), "somebody")
    await drift_is_healed(agent)
    assert (await spec_of(agent))["replicas"] == 3
    assert await image_of(agent) == "registry.example/web:2.0"

    bad = {**OF_DEPLOYMENTS, "jqPathExpressions": [".spec["]}
    await agent.patch_app("web", {"spec": {"ignoreDifferences": [rule, bad]}})
    app = await agent.until(lambda app: "ComparisonError" in conditions(app), app="web")
    assert "spec.ignoreDifferences[1].jqPathExpressions[0]" in conditions(app)["ComparisonError"]
    assert app["status"]["sync"]["status"] == "Unknown"

    endless = {"kind": "ConfigMap", "jqPathExpressions": [ENDLESS]}
    await agent.patch_app("web", {"spec": {"ignoreDifferences": [rule, endless]}})
    await agent.apply_app("other", "other", syncPolicy=HEALING)
    await agent.until_synced("other")
    app = await agent.until(
        lambda app: "IgnoreRuleWarning" in conditions(app) and is_synced(app, health="Suspended"),
        app="web",
    )
    assert "took longer" in conditions(app)["IgnoreRuleWarning"]
    assert await image_of(agent) == "registry.example/web:2.0"


async def test_rules_of_the_settings_are_followed_live(agent: AgentFixture) -> None:
    files = {"web/a.yaml": config_map("a", key="git"), "web/b.yaml": config_map("b", shown="git")}
    agent.commit(files)
    key = "resource_customizations_ignoreDifferences_all"
    await put_settings(agent, **{key: "jsonPointers: [/data/shown]"})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")

    await patch(agent, "api/v1/{}/configmaps/b", {"data": {"shown": "other"}}, "somebody")
    await drift_is_healed(agent, health="Healthy")
    live = await agent.get("configmaps/b")
    assert live is not None
    assert live["data"]["shown"] == "other"

    await put_settings(agent, **{key: ""})

    async def healed() -> bool:
        live = await agent.get("configmaps/b")
        return live is not None and live["data"]["shown"] == "git"

    await eventually(healed, within=120)


RESPECTING = {**HEALING, "syncOptions": ["RespectIgnoreDifferences=true"]}


def owners_of_replicas(live: dict[str, Any] | None) -> set[str]:
    assert live is not None
    entries = live["metadata"]["managedFields"]
    return {one["manager"] for one in entries if "f:replicas" in one["fieldsV1"].get("f:spec", {})}


async def test_a_sync_that_respects_ignored_fields_leaves_them_to_their_owners(
    agent: AgentFixture,
) -> None:
    """First the field is ours, and Git's new value does not come; then it is an autoscaler's."""
    agent.commit({"web/web.yaml": DEPLOYMENT.replace("replicas: 1", "replicas: 2")})
    rule = {**OF_DEPLOYMENTS, "jsonPointers": ["/spec/replicas"]}
    await agent.apply_app("web", "web", syncPolicy=RESPECTING, ignoreDifferences=[rule])
    await agent.until_synced("web", health="Suspended")
    assert (await spec_of(agent))["replicas"] == 2

    async def deployed(image: str) -> None:
        written = DEPLOYMENT.replace("replicas: 1", "replicas: 5").replace("web:1.0", image)
        sha = agent.commit({"web/web.yaml": written})
        refresh = {"argocd.argoproj.io/refresh": "normal"}
        await agent.patch_app("web", {"metadata": {"annotations": refresh}})
        await agent.until(
            lambda app: (
                is_synced(app, health="Suspended") and app["status"]["sync"]["revision"] == sha
            ),
            app="web",
        )
        assert await image_of(agent) == f"registry.example/{image}"

    await deployed("web:2.0")
    assert (await spec_of(agent))["replicas"] == 2

    await scale(agent, 3)
    await deployed("web:3.0")
    assert (await spec_of(agent))["replicas"] == 3
    assert owners_of_replicas(await agent.get("apps/v1/deployments/web")) == {
        "kube-controller-manager"
    }
