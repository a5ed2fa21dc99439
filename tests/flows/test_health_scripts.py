"""Health scripts of `argocd-cm` judge live objects, from the moment they say so."""

from __future__ import annotations

from tests.flows.agent_fixture import AgentFixture, config_map, is_synced
from tests.flows.test_exclusions import HEALING, put_settings

KEY = "resource_customizations_health_ConfigMap"
BY_NAME = """
if obj.metadata.name == "b" then return {status="Degraded", message="b is never well"} end
return {status="Healthy"}
"""
WHOLE = """
"*":
  health.lua.useOpenLibs: true
  health.lua: return {status=string.sub("Suspended", 1)}
"""
FOR_EVER = "while true do end"


async def test_a_script_of_argocd_cm_judges_its_kind_while_it_is_there(agent: AgentFixture) -> None:
    await put_settings(agent, **{KEY: BY_NAME})
    agent.commit({"web/a.yaml": config_map("a"), "web/b.yaml": config_map("b")})
    await agent.apply_app("web", "web", syncPolicy=HEALING)
    app = await agent.until(lambda app: is_synced(app, health="Degraded"), app="web")
    assert app["status"]["health"]["message"] == "Caused by ConfigMap b"

    await put_settings(agent, resource_customizations=WHOLE)
    await agent.until_synced("web", health="Suspended")

    await put_settings(agent, **{KEY: FOR_EVER})
    caused = "Caused by ConfigMap a, ConfigMap b"
    await agent.until(
        lambda app: (
            is_synced(app, health="Unknown") and app["status"]["health"]["message"] == caused
        ),
        app="web",
    )

    await put_settings(agent)
    await agent.until_synced("web")
