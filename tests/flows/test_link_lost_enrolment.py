"""The answer to an enrolment is lost on the way, or with the agent: it asks again and is let in."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import ClientSession, web
from aiohttp.test_utils import TestServer

from agent.bridge.enrol import Introduction
from agent.bridge.keeping import Keeping
from agent.bridge.link import LinkLostError, LinkRefusedError
from agent.bridge.outside import Place, outside
from agent.clock import SystemClock
from agent.kube.client import KubeClient, kube_client
from agent.kube.config import connect
from playground.kubernetes import ControlPlane
from service.store.tables import agent_keys
from tests.service.client import Keys, RefusedError, enrol
from tests.service.world import World, open_service, settings

pytestmark = pytest.mark.flow


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
            told = await answer.read()
        self.loses -= 1
        if self.loses >= 0 and request.transport is not None:
            request.transport.close()
        return web.Response(status=answer.status, body=told, content_type=answer.content_type)


@pytest.fixture
async def client(control_plane: ControlPlane) -> AsyncIterator[KubeClient]:
    async with kube_client(await connect(control_plane.kubeconfig)) as client:
        yield client


async def test_an_enrolment_whose_answer_was_lost_is_done_once(
    client: KubeClient, namespace: str, database_url: str, tmp_path: Path
) -> None:
    async with open_service(settings(database_url)) as service:
        world, token = World(service), tmp_path / "token"
        token.write_text(await world.token(await world.agent()))
        app = web.Application()
        app.router.add_post("/{any:.*}", Road(service.url, loses=1).pass_on)
        async with TestServer(app) as road, outside(Place(url=str(road.make_url("")))) as way:

            def introduction() -> Introduction:
                """As a process that has just begun."""
                return Introduction(
                    way=way,
                    keeping=Keeping(client=client, namespace=namespace),
                    clock=SystemClock(),
                    token_file=token,
                    cluster_uid="u",
                    version="1",
                )

            with pytest.raises(LinkLostError) as lost:
                await introduction().known()
            assert not isinstance(lost.value, LinkRefusedError)
            (given,) = await world.rows(agent_keys)
            keys = await introduction().known()
            await introduction().session()
        with pytest.raises(RefusedError):
            await enrol(service.url, token.read_text(), Keys())
        assert keys.key_id == given.id
        assert len(await world.rows(agent_keys)) == 1
