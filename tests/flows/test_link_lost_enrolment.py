"""The answer to an enrolment is lost on the way, or with the agent: it asks again and is let in."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from agent.bridge.identity.enroller import Enroller
from agent.bridge.identity.key_store import KeyStore
from agent.bridge.transport.link import LinkLostError, LinkRefusedError
from agent.bridge.transport.service_http import ServiceAddress, open_service_http
from agent.clock import SystemClock
from agent.kube.client import KubeClient, kube_client
from agent.kube.connection_config import connect
from playground.kubernetes import ControlPlane
from service.store.tables import agent_keys
from tests.service.fake_agent import AgentKeyPair, HandshakeRefusedError, enrol
from tests.service.service_fixture import RunningService, open_service, settings
from tests.unit.agent.bridge.fake_service import some_cluster


@dataclass
class Road:
    """In front of the service: it loses the first so many answers."""

    service: str
    loses: int

    async def pass_on(self, request: web.Request) -> web.Response:
        body = await request.read()
        async with (
            ClientSession() as http,
            http.post(f"{self.service}{request.path}", data=body) as answer,
        ):
            reply = await answer.read()
        self.loses -= 1
        if self.loses >= 0 and request.transport is not None:
            request.transport.close()
        return web.Response(status=answer.status, body=reply, content_type=answer.content_type)


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with kube_client(await connect(control_plane.kubeconfig)) as client:
        yield client


async def test_an_enrolment_whose_answer_was_lost_is_done_once(
    client: KubeClient, namespace: str, database_url: str, tmp_path: Path
) -> None:
    async with open_service(settings(database_url)) as service:
        running_service, token = RunningService(service), tmp_path / "token"
        token.write_text(await running_service.token(await running_service.agent()))
        app = web.Application()
        app.router.add_post("/{any:.*}", Road(service.url, loses=1).pass_on)
        async with (
            TestServer(app) as road,
            open_service_http(ServiceAddress(url=str(road.make_url("")))) as http,
        ):

            def enroller() -> Enroller:
                """As a process that has just begun."""
                return Enroller(
                    http=http,
                    key_store=KeyStore(client=client, namespace=namespace),
                    clock=SystemClock(),
                    token_file=token,
                    cluster_uid=some_cluster,
                    version="1",
                )

            with pytest.raises(LinkLostError) as lost:
                await enroller().enrolled_keys()
            assert not isinstance(lost.value, LinkRefusedError)
            (key,) = await running_service.rows(agent_keys)
            keys = await enroller().enrolled_keys()
            await enroller().session()
        with pytest.raises(HandshakeRefusedError):
            await enrol(service.url, token.read_text(), AgentKeyPair())
        assert keys.key_id == key.id
        assert len(await running_service.rows(agent_keys)) == 1
