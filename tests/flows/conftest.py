"""Agents on real parts, for flow tests: `agent` runs, `stopped_agent` is yet to be started."""

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.settings import Settings
from playground.background import BackgroundLoop
from playground.githost import GitHost
from playground.kubeapi import install_definitions
from playground.kubernetes import ControlPlane
from playground.pushes import PushWebhook
from tests.flows.agent_fixture import AgentFixture
from tests.flows.fake_service_link import FakeServiceLink, acting, allow, linked_to
from tests.unit.agent.bridge.fake_service import FakeService

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
async def stopped_agent(
    definitions: ControlPlane,
    git_host: GitHost,
    nats_url: str,
    sandbox_binary: Path,
    namespace: str,
    tmp_path: Path,
) -> AsyncIterator[AgentFixture]:
    """Everything but the agent: start it with `async with stopped_agent.running()`."""
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
        yield AgentFixture(
            settings=settings,
            repository=repository,
            api=api,
            namespace=namespace,
            destination=destination,
        )
        await api.delete(f"/api/v1/namespaces/{destination}")


@pytest.fixture
async def agent(stopped_agent: AgentFixture) -> AsyncIterator[AgentFixture]:
    """The agent acts, and hears of pushes by signed webhooks."""
    await stopped_agent.api.create(
        f"/api/v1/namespaces/{stopped_agent.namespace}/secrets",
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "argocd-secret"},
            "stringData": {"webhook.github.secret": WEBHOOK_SECRET},
        },
    )
    async with stopped_agent.running() as agent:
        url = f"http://127.0.0.1:{agent.port}/api/webhook"
        stopped_agent.repository.webhook = PushWebhook(url=url, secret=WEBHOOK_SECRET)
        yield stopped_agent
        stopped_agent.repository.webhook = None


@pytest.fixture
async def fake_service() -> AsyncIterator[FakeService]:
    """A small service that speaks the frames of the link."""
    async with FakeService().open() as fake_service:
        yield fake_service


@pytest.fixture
async def linked_agent(
    stopped_agent: AgentFixture, fake_service: FakeService, tmp_path: Path
) -> AgentFixture:
    """A stopped agent with a token for the fake service, whose owner allows every write."""
    await allow(stopped_agent)
    return linked_to(fake_service, stopped_agent, tmp_path)


@pytest.fixture
async def link(
    linked_agent: AgentFixture, fake_service: FakeService
) -> AsyncIterator[FakeServiceLink]:
    """The linked agent, running and connected."""
    async with acting(linked_agent, fake_service) as link:
        yield link
