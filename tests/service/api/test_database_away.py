"""Without its database the service says so, as a problem, and says when to come back."""

from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.loopback import free_port
from service.api.process import metrics_routes
from service.api.routes import routes
from service.store.database import open_engine
from tests.service.api.world import World

pytestmark = pytest.mark.flow


async def test_a_database_that_is_away_is_no_server_error(world: World) -> None:
    viewer = await world.person("viewer")
    async with open_engine(f"postgresql://nobody@127.0.0.1:{free_port()}/none") as engine:
        app = web.Application()
        app.router.add_routes(routes(replace(world.parts, engine=engine)))
        async with TestServer(app) as server:
            world.server = server
            answer = await viewer.get("/agents")
            assert (answer.status, answer.body["rule"]) == (503, "database-away")
            assert answer.headers["Retry-After"] == "2"
            async with world.client.get(server.make_url("/healthz")) as response:
                assert response.status == 200


async def test_readiness_says_so_on_the_port_of_metrics(world: World) -> None:
    async with open_engine(f"postgresql://nobody@127.0.0.1:{free_port()}/none") as engine:
        app = web.Application()
        app.router.add_routes(metrics_routes(replace(world.parts, engine=engine)))
        async with (
            TestServer(app) as server,
            world.client.get(server.make_url("/readyz")) as response,
        ):
            assert response.status == 503
