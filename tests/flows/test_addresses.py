"""The attacks on addresses (C1, H3) through the whole agent: one more Application, a webhook."""

from __future__ import annotations

import uuid

import pytest

from bus.events import RefreshRepository
from bus.identity import RepositoryKey
from playground.githost import GitHost
from tests.flows.agent_fixture import AgentFixture, conditions, config_map

AUTOMATED = {"automated": {"prune": True, "selfHeal": True}}


async def test_content_of_another_repository_is_never_deployed(
    stopped_agent: AgentFixture, git_host: GitHost
) -> None:
    """Both are refreshed by what a delivery about either of them would ask for."""
    agent, name = stopped_agent, uuid.uuid4().hex[:8]
    victim, attacker = git_host.create(f"team-{name}/app"), git_host.create(f"Team-{name}/App")
    agent.repository = victim
    mine = victim.commit({"web/a.yaml": config_map("owner", owner="victim")})
    theirs = attacker.commit({"web/a.yaml": config_map("owner", owner="attacker")})
    async with agent.running():
        keys = agent.parts.applications.repositories
        await agent.apply_app("victim", "web", syncPolicy=AUTOMATED)
        await agent.until_synced("victim")
        await agent.apply_app("attacker", "web", source={"repoURL": attacker.url})
        await agent.until(lambda app: app.get("status", {}).get("sync"), app="attacker")
        found = keys(f"127.0.0.1/team-{name}/app")
        assert set(found) == {RepositoryKey.of(it.url) for it in (victim, attacker)}
        for key in found:
            await agent.publish(RefreshRepository(repository=key, ref="refs/heads/main"))
        theirs = attacker.commit({"web/b.yaml": config_map("second", owner="attacker")})
        await agent.publish(RefreshRepository(repository=RepositoryKey.of(attacker.url)))
        seen = await agent.until(
            lambda app: app["status"]["sync"].get("revision") == theirs, app="attacker"
        )
        app = await agent.app("victim")
        owner = await agent.get("configmaps/owner")
    assert seen["status"]["sync"]["revision"] == theirs
    assert app["status"]["sync"]["revision"] == mine
    assert owner is not None
    assert owner["data"] == {"owner": "victim"}


@pytest.mark.parametrize("server", ["", "/", ":443", ".", ":443/"], ids=repr)
async def test_a_denied_namespace_is_denied_in_every_spelling_of_the_server(
    stopped_agent: AgentFixture, server: str
) -> None:
    agent = stopped_agent
    agent.commit({"web/a.yaml": config_map("bypassed")})
    name = f"team-{uuid.uuid4().hex[:8]}"
    here = "https://kubernetes.default.svc"
    rules = [
        {"server": "*", "namespace": "*"},
        {"server": here, "namespace": f"!{agent.destination}"},
    ]
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{agent.namespace}/appprojects/{name}"
    project = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "AppProject",
        "metadata": {"name": name, "namespace": agent.namespace},
        "spec": {"sourceRepos": ["*"], "destinations": rules},
    }
    async with agent.running():
        await agent.api.apply(path, project)
        there = {"server": f"{here}{server}", "namespace": agent.destination}
        policy = {"automated": {}}
        await agent.apply_app("web", "web", project=name, destination=there, syncPolicy=policy)
        app = await agent.until(
            lambda app: "not permitted in project" in conditions(app).get("InvalidSpecError", ""),
            app="web",
        )
        made = await agent.get("configmaps/bypassed")
    assert made is None
    assert not app["status"].get("operationState")
