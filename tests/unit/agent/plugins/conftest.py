"""A plugin whose commands are scripts of the repository, so that each test writes its own."""

from pathlib import Path

import pytest

from agent.plugins.plugin_client import PluginClient
from agent.plugins.plugin_limits import PluginLimits
from agent.plugins.plugin_sidecars import PluginSidecars
from playground.background import BackgroundLoop
from playground.plugin_sidecar import PluginSidecar

SCRIPTS = {
    "version": "v1",
    "init": {"command": ["sh", "-c", "test ! -e init.sh || sh init.sh"]},
    "generate": {"command": ["sh", "generate.sh"]},
    "discover": {"fileName": "generate.sh"},
    "parameters": {
        "static": [{"name": "replicas", "title": "Replicas", "itemType": "number", "string": "2"}],
        "dynamic": {"command": ["sh", "-c", "test ! -e parameters.json || cat parameters.json"]},
    },
}


@pytest.fixture(scope="session")
def sidecar(
    background: BackgroundLoop, plugin_server_binary: Path, tmp_path_factory: pytest.TempPathFactory
) -> PluginSidecar:
    folder = tmp_path_factory.mktemp("scripts")
    found = PluginSidecar(
        binary=plugin_server_binary,
        folder=folder,
        sockets=folder / "s",
        name="scripts",
        spec=SCRIPTS,
    )
    background.enter(found.running())
    return found


@pytest.fixture
def limits() -> PluginLimits:
    return PluginLimits()


@pytest.fixture
def plugins(
    sidecar: PluginSidecar, plugin_client_binary: Path, limits: PluginLimits, tmp_path: Path
) -> PluginSidecars:
    return PluginSidecars(
        folder=sidecar.sockets,
        client=PluginClient(plugin_client_binary),
        scratch=tmp_path,
        limits=limits,
    )
