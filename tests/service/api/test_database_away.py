"""Without its database the service says so, as a problem, and says when to come back."""

from dataclasses import replace

from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.loopback import free_port
from service.api.routes import routes
from service.store.database import open_engine
from service.wiring import metrics_application, provide_api
from tests.service.api.api_fixture import ApiFixture


async def test_a_database_that_is_away_is_no_server_error(api: ApiFixture) -> None:
    viewer = await api.person("viewer")
    async with open_engine(f"postgresql://nobody@127.0.0.1:{free_port()}/none") as engine:
        app = web.Application()
        endpoints = provide_api(app, replace(api.dependencies, engine=engine))
        app.router.add_routes(routes(endpoints, public_description=False))
        async with TestServer(app) as server:
            api.server = server
            answer = await viewer.get("/agents")
            assert (answer.status, answer.body["rule"]) == (503, "database-away")
            assert answer.headers["Retry-After"] == "2"
            async with api.client.get(server.make_url("/healthz")) as response:
                assert response.status == 200


async def test_readiness_says_so_on_the_port_of_metrics(api: ApiFixture) -> None:
    async with open_engine(f"postgresql://nobody@127.0.0.1:{free_port()}/none") as engine:
        app = metrics_application(replace(api.dependencies, engine=engine))
        async with (
            TestServer(app) as server,
            api.client.get(server.make_url("/readyz")) as response,
        ):
            assert response.status == 503
