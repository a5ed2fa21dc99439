"""Applications rendered by a config management plugin, beside Argo CD's own server."""

from pathlib import Path
from typing import Any

import pytest

from playground.plugin_sidecar import PluginSidecar
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.support import eventually

GENERATE = """
test "$(cat text)" != fail || { echo "cannot read text" >&2; exit 1; }
cat <<END
apiVersion: v1
kind: ConfigMap
metadata: {name: $ARGOCD_APP_NAME}
data: {text: "$(cat text)", size: "$PARAM_SIZE", color: "$ARGOCD_ENV_COLOR"}
END
"""
SPEC = {
    "generate": {"command": ["sh", "-c", GENERATE]},
    "discover": {"fileName": "text"},
}


@pytest.fixture
def sidecar(plugin_server_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> PluginSidecar:
    folder = tmp_path_factory.mktemp("p")
    return PluginSidecar(
        binary=plugin_server_binary,
        folder=folder,
        sockets=folder / "s",
        name="texts",
        spec=SPEC,
    )


@pytest.fixture
def stopped_agent(
    stopped_agent: AgentFixture, sidecar: PluginSidecar, plugin_client_binary: Path
) -> AgentFixture:
    plugins = stopped_agent.settings.plugins.model_copy(
        update={"folder": sidecar.sockets, "binary": plugin_client_binary, "deadline": 60.0}
    )
    stopped_agent.settings = stopped_agent.settings.model_copy(update={"plugins": plugins})
    return stopped_agent


FAILING = "fail"
AUTOMATED = {"syncPolicy": {"automated": {"prune": True}}}


async def until_data(agent: AgentFixture, name: str, wanted: dict[str, str]) -> None:
    async def holds() -> bool:
        found = await agent.get(f"configmaps/{name}")
        return found is not None and found["data"] == wanted

    await eventually(holds, what=f"{name}: {wanted}")


async def until_error(agent: AgentFixture, name: str, text: str) -> dict[str, Any]:
    return await agent.until(
        lambda app: text in conditions(app).get("ComparisonError", ""), app=name
    )


async def test_what_waits_for_a_plugin_is_deployed_when_it_comes(
    agent: AgentFixture, sidecar: PluginSidecar
) -> None:
    agent.commit({"app/text": "one", "plain/config.yaml": config_map("plain", text="plain")})
    block = {
        "name": "texts",
        "env": [{"name": "COLOR", "value": "${ARGOCD_APP_NAME}-blue"}],
        "parameters": [{"name": "size", "string": "large"}],
    }
    await agent.apply_app("named", "app", source={"plugin": block}, **AUTOMATED)
    await agent.apply_app("plain", "plain", **AUTOMATED)
    await until_error(agent, "named", "no plugin 'texts'")
    await agent.until_synced("plain")
    async with sidecar.running() as process:
        synced = await agent.until_synced("named")
        assert synced["status"]["sourceType"] == "Plugin"
        one = {"text": "one", "size": "large", "color": "named-blue"}
        await until_data(agent, "named", one)

        agent.commit({"app/text": "two"})
        await until_data(agent, "named", {**one, "text": "two"})

        agent.commit({"app/text": FAILING})
        await until_error(agent, "named", "the plugin 'texts' failed")
        process.kill()
        agent.commit({"app/text": "three"})
        await until_error(agent, "named", "the plugin 'texts' does not answer")
        agent.commit({"plain/config.yaml": config_map("plain", text="more")})
        await until_data(agent, "plain", {"text": "more"})
        await until_data(agent, "named", {**one, "text": "two"})
        await process.start()
        await until_data(agent, "named", {**one, "text": "three"})


async def test_a_source_that_a_plugin_recognises_falls_to_no_other_tool(
    agent: AgentFixture, sidecar: PluginSidecar
) -> None:
    agent.commit({"app/text": "one", "app/raw.yaml": config_map("raw", text="raw")})
    async with sidecar.running():
        await agent.apply_app("found", "app", **AUTOMATED)
        await agent.until_synced("found")
        await until_data(agent, "found", {"text": "one", "size": "", "color": ""})
    sidecar.socket.unlink(missing_ok=True)
    agent.commit({"app/text": "two"})
    await until_error(agent, "found", "the plugin 'texts' that rendered this source is not there")
    assert await agent.get("configmaps/raw") is None
    await until_data(agent, "found", {"text": "one", "size": "", "color": ""})
    async with sidecar.running():
        await until_data(agent, "found", {"text": "two", "size": "", "color": ""})
