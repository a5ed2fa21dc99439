"""What an AppProject forbids does not happen, and the Application says which rule it was."""

from __future__ import annotations

from typing import Any

from tests.flows.agent_fixture import SERVER, AgentFixture, conditions, config_map
from tests.flows.test_exclusions import put_settings
from tests.support import eventually

AUTOMATED = {"automated": {"prune": True}}
SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\n"


async def limit(agent: AgentFixture, name: str = "limited", **rules: Any) -> None:
    """Make or change a project."""
    open_ = {"sourceRepos": ["*"], "destinations": [{"server": SERVER, "namespace": "*"}]}
    await agent.apply_project(name, {**open_, **rules}, labels={"of": name})


async def test_a_source_that_the_project_does_not_list_is_refused_until_it_does(
    agent: AgentFixture,
) -> None:
    await limit(agent, sourceRepos=["https://git.example/*"])
    agent.commit({"web/a.yaml": config_map("a")})
    await agent.apply_app("web", "web", project="limited", syncPolicy=AUTOMATED)
    app = await agent.until(conditions, app="web")
    assert conditions(app).keys() == {"InvalidSpecError"}
    assert "limited" in conditions(app)["InvalidSpecError"]
    assert await agent.get("configmaps/a") is None
    await limit(agent)  # nobody asks for anything: the project's change is heard
    assert conditions(await agent.until_synced("web")) == {}


async def test_a_kind_that_is_denied_fails_at_once_and_recovers_with_its_project(
    agent: AgentFixture,
) -> None:
    """Nothing beside it is applied either, and no try is wasted on it."""
    await limit(agent, namespaceResourceBlacklist=[{"group": "", "kind": "Secret"}])
    agent.commit({"web/a.yaml": config_map("a"), "web/s.yaml": SECRET})
    await agent.apply_app("web", "web", project="limited", syncPolicy=AUTOMATED)
    app = await agent.until(
        lambda app: has_ended(app) and "SyncError" in conditions(app), app="web"
    )
    state = app["status"]["operationState"]
    assert (state["phase"], state.get("retryCount", 0)) == ("Failed", 0)
    logged = "remove it from spec.namespaceResourceBlacklist"
    assert logged in conditions(app)["SyncError"]
    assert logged in state["message"]
    assert await agent.get("configmaps/a") is None
    assert await agent.get("secrets/s") is None
    await limit(agent)
    app = await agent.until_synced("web")
    assert conditions(app) == {}
    assert len(app["status"]["history"]) == 1


async def test_a_sync_by_hand_to_a_place_that_is_denied_ends_at_once(agent: AgentFixture) -> None:
    await limit(agent, destinations=[{"server": SERVER, "namespace": "elsewhere"}])
    agent.commit({"web/a.yaml": config_map("a")})
    await agent.apply_app("web", "web", project="limited")
    await agent.until(conditions, app="web")
    await agent.patch_app("web", {"operation": {"sync": {}, "retry": {"limit": 5}}})
    app = await agent.until(has_ended, app="web")
    state = app["status"]["operationState"]
    assert (state["phase"], state.get("retryCount", 0)) == ("Error", 0)
    assert "spec.destinations" in state["message"]


def has_ended(app: dict[str, Any]) -> bool:
    return app["status"].get("operationState", {}).get("phase") in ("Error", "Failed")


async def test_an_application_removes_nothing_that_its_project_does_not_permit(
    agent: AgentFixture,
) -> None:
    """Names come again, and an object says itself whose it is."""
    agent.commit({"web/a.yaml": config_map("a"), "own/b.yaml": config_map("b")})
    await agent.apply_app("web", "web", syncPolicy=AUTOMATED)
    await agent.until_synced("web")
    await agent.delete_app("web")  # without its objects
    await eventually(lambda: agent.known("web") is None, what="the end of the application")
    elsewhere = {"server": SERVER, "namespace": agent.namespace}
    await limit(agent, destinations=[elsewhere])
    await agent.apply_app(
        "web",
        "own",
        project="limited",
        destination=elsewhere,
        metadata={"finalizers": ["resources-finalizer.argocd.argoproj.io"]},
    )
    await eventually(lambda: agent.known("web"), what="the tenant's application")
    await agent.delete_app("web")
    app = await agent.until(lambda app: "DeletionError" in conditions(app), app="web")
    assert "limited" in conditions(app)["DeletionError"]
    assert await agent.get("configmaps/a") is not None
    await limit(agent)
    await eventually(lambda: agent.known("web") is None, within=120, what="the end of it")
    await agent.until_gone("configmaps/a")


async def test_what_a_global_project_denies_is_denied_while_it_is_global(
    agent: AgentFixture,
) -> None:
    """Followed live: the setting, and the project that it names, which is not there at first."""
    of_limited = "- projectName: org\n  labelSelector: {matchLabels: {of: limited}}\n"
    await put_settings(agent, globalProjects=of_limited)
    await limit(agent)
    agent.commit({"web/a.yaml": config_map("a"), "web/s.yaml": SECRET})
    await agent.apply_app("web", "web", project="limited", syncPolicy=AUTOMATED)
    app = await agent.until(conditions, app="web")
    assert "globalProjects of argocd-cm: org" in conditions(app)["AutoSyncHeldWarning"]
    assert await agent.get("configmaps/a") is None

    await limit(agent, "org", namespaceResourceBlacklist=[{"group": "", "kind": "Secret"}])
    app = await agent.until(lambda app: "SyncError" in conditions(app), app="web")
    assert "by the AppProject 'limited' with its global 'org'" in conditions(app)["SyncError"]
    assert await agent.get("secrets/s") is None

    await put_settings(agent, globalProjects="")
    assert conditions(await agent.until_synced("web")) == {}


async def test_a_repository_and_a_cluster_of_a_project_are_permitted_by_it(
    agent: AgentFixture,
) -> None:
    """As soon as their Secrets name the project, and no longer than that."""
    await limit(agent, sourceRepos=[], destinations=[])
    agent.commit({"web/a.yaml": config_map("a")})
    await agent.apply_app("web", "web", project="limited", syncPolicy=AUTOMATED)
    await agent.until(lambda app: "InvalidSpecError" in conditions(app), app="web")

    repository = {"url": agent.repository.url, "project": "limited"}
    await connection(agent, "repository", **repository)
    app = await agent.until(
        lambda app: "destination" in conditions(app).get("InvalidSpecError", ""), app="web"
    )
    assert await agent.get("configmaps/a") is None
    await connection(agent, "cluster", server=SERVER, name="in-cluster", project="limited")
    app = await agent.until_synced("web")
    assert conditions(app) == {}

    await agent.api.delete(f"/api/v1/namespaces/{agent.namespace}/secrets/of-repository")
    await agent.until(lambda app: "InvalidSpecError" in conditions(app), app="web")


async def connection(agent: AgentFixture, kind: str, **fields: str) -> None:
    name = f"of-{kind}"
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {"argocd.argoproj.io/secret-type": kind}},
        "stringData": fields,
    }
    await agent.api.apply(f"/api/v1/namespaces/{agent.namespace}/secrets/{name}", body)
