"""What `/metrics` says after real calls: scraped from a running service."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families

from bus.link import RefreshArguments
from service.gateway.task_store import QueuedTask
from service.store.tables import accounts
from tests.service.fake_agent import FakeOutbox, application, connect
from tests.service.service_fixture import RunningService, open_service, settings

_P = "gitops_service_"


@pytest.fixture
async def running_service(database_url: str) -> AsyncIterator[RunningService]:
    async with open_service(settings(database_url)) as service:
        yield RunningService(service)


async def scraped(running_service: RunningService) -> dict[str, float]:
    """`name{label="value"}` -> value."""
    url = f"http://127.0.0.1:{running_service.service.metrics_port}/metrics"
    async with aiohttp.ClientSession() as http, http.get(url) as answer:
        assert answer.status == 200
        body = await answer.text()
    return {
        sample.name + ",".join(f"{{{k}={v}}}" for k, v in sorted(sample.labels.items())): value
        for family in text_string_to_metric_families(body)
        for sample in family.samples
        if (value := sample.value) is not None
    }


async def test_requests_are_counted_by_the_template_of_their_route(
    running_service: RunningService,
) -> None:
    agents = [await running_service.agent("one"), await running_service.agent("two")]
    for agent in agents:
        assert (await running_service.call("GET", f"/agents/{agent}"))[0] == 200
    assert (await running_service.call("GET", "/agents/nobody"))[0] == 404
    assert (await running_service.call("GET", "/no/such/path"))[0] == 404
    found = await scraped(running_service)
    of = f"{_P}requests_total{{method=GET}},{{route=/api/v1/agents/{{id}}}},{{status="
    assert (found[of + "200}"], found[of + "404}"]) == (2, 1)
    assert found[f"{_P}requests_total{{method=GET}},{{route=unmatched}},{{status=404}}"] == 1
    assert not any(agent in name for name in found for agent in (*agents, "such"))
    seconds = f"{_P}request_seconds_count{{method=GET}},{{route=/api/v1/agents/{{id}}}}"
    assert found[seconds] == 3


async def test_a_method_that_nobody_knows_is_no_label(running_service: RunningService) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.request("MADEUP", f"{running_service.service.url}/api/v1/agents") as answer,
    ):
        assert answer.status in (400, 404, 405)
    assert not any("MADEUP" in name for name in await scraped(running_service))


async def test_refused_logins_are_counted(running_service: RunningService) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(
            f"{running_service.service.url}/api/v1/login",
            json={"name": "admin", "password": "wrong"},
        ) as answer,
    ):
        assert answer.status == 401
    assert (await scraped(running_service))[f"{_P}login_refusals_total{{status=401}}"] == 1


async def test_links_items_and_lag_are_what_an_agent_did(running_service: RunningService) -> None:
    identity, outbox = await running_service.enrolled(), FakeOutbox()
    before = await scraped(running_service)
    assert (before[f"{_P}links"], before[f"{_P}agents{{status=connected}}"]) == (0, 0)
    async with connect(identity) as link:
        await link.hello(identity, outbox.epoch)
        await link.put([outbox.state(application("shop")), outbox.state(application("blog"))])
        during = await scraped(running_service)
    assert during[f"{_P}links"] == 1
    assert during[f"{_P}items_total{{kind=state}}"] == 2
    assert during[f"{_P}item_lag_seconds_count"] == 1


async def test_open_tasks_and_the_pool_are_read_at_the_scrape(
    running_service: RunningService,
) -> None:
    agent, dependencies = await running_service.agent(), running_service.service.dependencies
    account = (await running_service.rows(accounts))[0].id
    new = QueuedTask(account_id=account, agent_id=agent, arguments=RefreshArguments(), actor="mira")
    async with dependencies.engine.begin() as connection:
        await dependencies.tasks.submit(connection, new)
    found = await scraped(running_service)
    assert found[f"{_P}open_tasks{{phase=queued}}"] == 1
    assert found[f"{_P}open_tasks{{phase=running}}"] == 0
    assert found[f"{_P}deliveries{{state=waiting}}"] == 0
    assert (
        found[f"{_P}database_connections_max"]
        == running_service.service.settings.database_connections
    )
    async with dependencies.engine.connect() as held:
        await held.exec_driver_sql("SELECT 1")
        assert (await scraped(running_service))[f"{_P}database_connections_in_use"] >= 1
