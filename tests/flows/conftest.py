"""The house on real parts, for flow tests: `house` runs, `quiet_house` is yet to be started."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.settings import Settings
from playground.background import BackgroundLoop
from playground.definitions import install_definitions
from playground.githost import GitHost
from playground.kubernetes import ControlPlane
from playground.pushes import Webhook
from tests.bridge.farend import FarEnd
from tests.flows.house import House
from tests.flows.near import Near, acting, allow, linked_to

WEBHOOK_SECRET = "a secret of the flow tests"


@pytest.fixture(scope="session")
def definitions(background: BackgroundLoop, control_plane: ControlPlane) -> ControlPlane:
    """The cluster with our CustomResourceDefinitions in it."""
    background.call(_install(control_plane))
    return control_plane


async def _install(control_plane: ControlPlane) -> None:
    async with control_plane.api() as api:
        await install_definitions(api)


@pytest.fixture
async def quiet_house(
    definitions: ControlPlane,
    git_host: GitHost,
    nats_url: str,
    sandbox_binary: Path,
    namespace: str,
    tmp_path: Path,
) -> AsyncIterator[House]:
    """Everything but the agent: start it with `async with house.running()`."""
    token = uuid.uuid4().hex[:8]
    destination = f"{namespace}-apps"
    settings = Settings(
        account="flows",
        agent=f"t{token}",
        namespace=namespace,
        destination_namespaces=(namespace, destination),
        state_dir=tmp_path / "state",
        kube={"kubeconfig": definitions.kubeconfig},
        nats={"url": nats_url},
        http={"port": 0, "metrics_port": 0},
        sandbox={"binary": sandbox_binary, "workers": 1},
        lease={"enabled": False},
    )
    async with definitions.api() as api:
        await api.create_namespace(destination)
        repository = git_host.create(f"{token}/apps")
        yield House(
            settings=settings,
            repository=repository,
            api=api,
            namespace=namespace,
            destination=destination,
        )
        await api.delete(f"/api/v1/namespaces/{destination}")


@pytest.fixture
async def house(quiet_house: House) -> AsyncIterator[House]:
    """The agent acts, and hears of pushes by signed webhooks."""
    await quiet_house.api.create(
        f"/api/v1/namespaces/{quiet_house.namespace}/secrets",
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "argocd-secret"},
            "stringData": {"webhook.github.secret": WEBHOOK_SECRET},
        },
    )
    async with quiet_house.running() as agent:
        url = f"http://127.0.0.1:{agent.port}/api/webhook"
        quiet_house.repository.webhook = Webhook(url=url, secret=WEBHOOK_SECRET)
        yield quiet_house
        quiet_house.repository.webhook = None


@pytest.fixture
async def far() -> AsyncIterator[FarEnd]:
    """A small far end that speaks the frames of the link."""
    async with FarEnd().open() as far:
        yield far


@pytest.fixture
async def linked(quiet_house: House, far: FarEnd, tmp_path: Path) -> House:
    """Its owner lets the control plane write everywhere."""
    await allow(quiet_house)
    return linked_to(far, quiet_house, tmp_path)


@pytest.fixture
async def near(linked: House, far: FarEnd) -> AsyncIterator[Near]:
    """It acts, and is connected."""
    async with acting(linked, far) as near:
        yield near
