"""Kinds that Argo CD's settings exclude are left alone, from the moment they say so."""

from __future__ import annotations

from tests.flows.agent_fixture import AgentFixture, conditions, config_map, is_synced
from tests.support import eventually

HEALING = {"automated": {"prune": True, "selfHeal": True}}
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n"
EXCLUDED = "- apiGroups: ['']\n  kinds: [Service]\n"


async def put_settings(agent: AgentFixture, **data: str) -> None:
    written = {key.replace("_", "."): value for key, value in data.items()}
    await agent.apply_settings("argocd-cm", written)


async def test_an_excluded_kind_is_neither_compared_applied_nor_pruned(agent: AgentFixture) -> None:
    agent.commit({"web/a.yaml": config_map("a"), "web/web.yaml": SERVICE})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    await agent.until_synced("web")

    await put_settings(agent, resource_exclusions=EXCLUDED)
    app = await agent.until(lambda app: "ExcludedResourceWarning" in conditions(app), app="web")
    assert "Service web" in conditions(app)["ExcludedResourceWarning"]
    sha = agent.commit({"web/web.yaml": None, "web/b.yaml": config_map("b")})
    await agent.until(
        lambda app: is_synced(app) and app["status"]["sync"]["revision"] == sha, app="web"
    )
    assert await agent.get("services/web") is not None

    await put_settings(agent, resource_exclusions="")

    async def pruned() -> bool:
        return await agent.get("services/web") is None

    await eventually(pruned, within=120)
