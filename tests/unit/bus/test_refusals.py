"""Refusals: the first at once, then a count a minute; no count is lost, whoever floods."""

from __future__ import annotations

from typing import Any

import aiohttp
import structlog
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry
from structlog.testing import capture_logs

from bus.http.refusals import REFUSALS, Refusal, RefusalCounts, RefusalLog, prepare_refusals
from bus.http.server import serving
from tests.support import eventually

log = structlog.get_logger()
COUNT = "refused again and again"


def test_the_first_is_told_and_the_rest_are_counted() -> None:
    refusals = RefusalCounts()
    first = refusals.note("webhook", "203.0.113.7", "unauthorized")

    assert first == Refusal("webhook", "203.0.113.7", "unauthorized")
    assert [refusals.note("webhook", "203.0.113.7", "unauthorized") for _ in range(9)] == [None] * 9
    assert refusals.take(first) == 9


def test_another_address_or_reason_is_told_at_once() -> None:
    refusals = RefusalCounts()
    notes = [
        refusals.note("webhook", "203.0.113.7", "unauthorized"),
        refusals.note("webhook", "203.0.113.8", "unauthorized"),
        refusals.note("webhook", "203.0.113.7", "malformed"),
    ]

    assert None not in notes


def test_addresses_of_one_ipv6_network_share_a_count() -> None:
    refusals = RefusalCounts()
    assert refusals.note("webhook", "2001:db8::1", "unauthorized") is not None
    assert refusals.note("webhook", "2001:db8::2", "unauthorized") is None


def test_who_is_refused_nothing_for_a_minute_is_forgotten() -> None:
    refusals = RefusalCounts()
    first = refusals.note("webhook", "203.0.113.7", "unauthorized")
    assert first is not None
    assert refusals.take(first) == 0
    assert refusals.note("webhook", "203.0.113.7", "unauthorized") == first


@given(st.lists(st.tuples(st.integers(0, 30), st.booleans()), max_size=200))
def test_lines_and_counts_add_up_and_are_bounded(steps: list[tuple[int, bool]]) -> None:
    refusals, entries = RefusalCounts(most=8), 0
    for number, over in steps:
        entries += refusals.note("webhook", f"203.0.113.{number}", "unauthorized") is not None
        assert len(refusals.counted) <= 8 + 1
        entries += sum(refusals.take(it) for it in refusals.counted) if over else 0
    entries += sum(refusals.take(it) for it in refusals.counted)

    assert entries == len(steps) == refusals.totals.total()


async def refuse(request: web.Request) -> web.Response:
    about = {"why": "always"}
    refusals = request.app[REFUSALS]
    refusals(log.warning, "refused", address=request.remote, reason="always", about=about)
    return web.Response(status=401)


async def ask(port: int, times: int) -> None:
    async with aiohttp.ClientSession() as http:
        for _ in range(times):
            async with http.get(f"http://127.0.0.1:{port}/") as answer:
                assert answer.status == 401


def counts(logged: list[Any]) -> list[int]:
    return [line["count"] for line in logged if line["event"] == COUNT]


async def test_a_flood_is_one_line_and_what_is_counted_is_told_at_the_end() -> None:
    app, registry = web.Application(), CollectorRegistry()
    app.router.add_get("/", refuse)
    with capture_logs() as logged:
        async with serving(app, "127.0.0.1", 0, registry=registry) as port:
            await ask(port, 40)
            assert [line["event"] for line in logged] == ["refused"]
            labels = {"event": "refused", "reason": "always"}
            assert registry.get_sample_value("gitops_http_refusals_total", labels) == 40
    assert counts(logged) == [39]
    assert registry.get_sample_value("gitops_http_connections") is None


async def test_the_count_is_told_when_the_minute_is_over() -> None:
    app = web.Application()
    prepare_refusals(app)
    app[REFUSALS].window_seconds = 0.2
    app.router.add_get("/", refuse)
    with capture_logs() as logged:
        async with serving(app, "127.0.0.1", 0) as port:
            await ask(port, 5)
            entries = await eventually(lambda: counts(logged))
    assert sum(entries) + sum(line["event"] == "refused" for line in logged) == 5


async def test_a_log_without_refusals_ends_without_a_line() -> None:
    with capture_logs() as logged:
        await RefusalLog().close(web.Application())
    assert logged == []
