"""The HTTP front door, spoken to over HTTP; the bus behind it is a list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import aiohttp
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from agent.ingress.server import MetricsServer, WebhookServer
from agent.ingress.take import TakeDelivery, warn_of_unproven
from agent.ingress.webhooks.verify import Secrets, sign
from agent.observe.health import Readiness
from agent.observe.metrics import make_metrics
from agent.observe.tracing import Spans
from bus.carrier import CarrierError
from bus.events import Event, RefreshRepository
from bus.http.server import serving
from bus.identity import RepositoryKey
from bus.subjects import Scope, subject_of
from bus.trace import Trace
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec, Source

LIMIT = 10_000
SECRET = b"hush"


class Index:
    """One Application that follows `main` over plain HTTP."""

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        shop = RepositoryKey("http://git.example/shop.git")
        return [shop] if delivery_key == "git.example/shop" else ()

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        if str(repository) != "http://git.example/shop.git":
            return ()
        source = Source(repo_url="http://git.example/shop.git", target_revision="main")
        return [Application(metadata=Metadata(name="shop"), spec=ApplicationSpec(source=source))]


class Bus:
    def __init__(self) -> None:
        self.lost = False
        self.published: list[tuple[Event, str]] = []
        self.trace: Trace | None = None

    async def publish(
        self, *events: Event, message_id: str = "", trace: Trace | None = None
    ) -> None:
        if self.lost:
            raise CarrierError("no server")
        self.trace = trace
        self.published += [(event, message_id) for event in events]


class House:
    def __init__(self) -> None:
        self.bus = Bus()
        self.readiness = Readiness()
        self.metrics = make_metrics()
        self.spans = InMemorySpanExporter()
        take = TakeDelivery(
            apps=Index(),
            publish=self.bus.publish,
            secrets=lambda: Secrets(github=SECRET),
            spans=Spans(SimpleSpanProcessor(self.spans)),
        )
        self.webhooks = WebhookServer(take=take, metrics=self.metrics, body_limit=LIMIT)
        self.monitoring = MetricsServer(readiness=self.readiness, metrics=self.metrics)
        self.url = self.metrics_url = ""

    async def get(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as http, http.get(self.metrics_url + path) as response:
            return response.status, await response.text()

    async def push(self, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        content = payload() if body is None else body
        given = {
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": "d1",
            "Content-Type": "application/json",
            "X-Hub-Signature-256": sign(SECRET, content),
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        async with (
            aiohttp.ClientSession() as http,
            http.post(self.url + "/api/webhook", data=content, headers=given) as response,
        ):
            return response.status, await response.json()

    def counted(self, outcome: str) -> float:
        sample = "argocd_webhook_requests_total"
        family = self.metrics.registry.collect()
        return sum(
            s.value
            for metric in family
            for s in metric.samples
            if s.name == sample and s.labels["outcome"] == outcome
        )


def payload(**changes: Any) -> bytes:
    return json.dumps(
        {
            "ref": "refs/heads/main",
            "before": "a" * 40,
            "after": "b" * 40,
            "repository": {"clone_url": "https://git.example/shop.git", "default_branch": "main"},
            **changes,
        }
    ).encode()


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House()
    async with (
        serving(made.webhooks.application(), "127.0.0.1", 0) as port,
        serving(made.monitoring.application(), "127.0.0.1", 0) as metrics_port,
    ):
        made.url = f"http://127.0.0.1:{port}"
        made.metrics_url = f"http://127.0.0.1:{metrics_port}"
        yield made


async def test_a_push_is_published_under_the_spelling_in_use(house: House) -> None:
    status, told = await house.push()

    assert (status, told["outcome"]) == (200, "accepted")
    assert told["repositories"] == ["http://git.example/shop.git"]
    ask = RefreshRepository(
        repository=RepositoryKey("http://git.example/shop.git"), ref="refs/heads/main"
    )
    ((event, message_id),) = house.bus.published
    assert event == ask
    assert "d1" in message_id


@pytest.mark.parametrize(
    ("body", "headers", "status", "outcome"),
    [
        pytest.param(payload(ref="refs/heads/other"), {}, 200, "touches_nothing", id="other ref"),
        pytest.param(
            payload(repository={"clone_url": "https://git.example/other"}),
            {},
            200,
            "touches_nothing",
            id="other repository",
        ),
        pytest.param(b"{}", {"X_GitHub_Event": "ping"}, 200, "ignored", id="ping"),
        pytest.param(None, {"X_Hub_Signature_256": "sha256=0"}, 401, "unauthorized", id="forged"),
        pytest.param(b"{", {}, 400, "malformed", id="cut off"),
        pytest.param(b" " * (LIMIT + 1), {}, 413, "too_large", id="too large"),
    ],
)
async def test_every_end_is_told_apart_in_answer_log_and_metric(
    house: House, body: bytes | None, headers: dict[str, str], status: int, outcome: str
) -> None:
    with capture_logs() as logs:
        code, told = await house.push(body, **headers)

    assert (code, told["outcome"]) == (status, outcome)
    assert told["message"]
    assert status == 200 or told["remedy"]
    assert [line["outcome"] for line in logs if line["event"] == "webhook"] == [outcome]
    assert house.counted(outcome) == 1
    assert house.bus.published == []


async def test_an_unknown_sender_is_told_apart(house: House) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(house.url + "/api/webhook", data=b"{}") as response,
    ):
        assert response.status == 400
        assert (await response.json())["outcome"] == "unknown_provider"


async def test_a_chunked_body_without_a_length_is_cut_off_too(house: House) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b" " * 1000

    headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=0"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(house.url + "/api/webhook", data=endless(), headers=headers) as response,
    ):
        assert response.status == 413


async def test_a_delivery_sent_again_is_published_once(house: House) -> None:
    outcomes = [(await house.push())[1]["outcome"] for _ in range(2)]

    assert outcomes == ["accepted", "duplicate"]
    assert len(house.bus.published) == 1


async def test_a_delivery_that_could_not_be_published_may_come_again(house: House) -> None:
    house.bus.lost = True
    first = await house.push()
    house.bus.lost = False
    second = await house.push()

    assert (first[0], first[1]["outcome"]) == (503, "unavailable")
    assert second[1]["outcome"] == "accepted"


async def test_a_burst_to_one_repository_is_one_subject(house: House) -> None:
    """The bus keeps one waiting ask a subject, so the burst is one look at the repository."""
    for number in range(5):
        await house.push(payload(after=str(number) * 40), X_GitHub_Delivery=f"d{number}")

    scope = Scope("acme", "prod1")
    assert len(house.bus.published) == 5
    assert len({subject_of(scope, event) for event, _ in house.bus.published}) == 1
    assert len({message_id for _, message_id in house.bus.published}) == 5


async def test_a_push_is_the_root_of_a_trace_that_its_asks_go_on(house: House) -> None:
    await house.push()

    (span,) = house.spans.get_finished_spans()
    assert span.parent is None
    assert span.context is not None
    assert house.bus.trace is not None
    assert format(span.context.span_id, "016x") == house.bus.trace.span_id


async def test_a_trace_that_the_sender_began_is_gone_on_with(house: House) -> None:
    await house.push(traceparent=f"00-{'1' * 32}-{'2' * 16}-01")

    (span,) = house.spans.get_finished_spans()
    assert span.context is not None
    assert span.parent is not None
    assert format(span.context.trace_id, "032x") == "1" * 32
    assert format(span.parent.span_id, "016x") == "2" * 16


@pytest.mark.parametrize(
    ("secrets", "levels"),
    [
        (Secrets(github=SECRET), ["info"]),
        (Secrets(github=SECRET, unproven=True), ["warning"]),
        (Secrets(), ["warning", "warning"]),
        (Secrets(github=SECRET, gitlab=SECRET), []),
    ],
    ids=["refused", "believed by the switch", "believed, as none is set", "proven"],
)
def test_what_is_made_of_a_host_without_a_secret_is_said(
    secrets: Secrets, levels: list[str]
) -> None:
    with capture_logs() as logs:
        warn_of_unproven(secrets)

    assert [line["log_level"] for line in logs] == levels


async def test_health_and_metrics_are_not_on_the_webhooks_port(house: House) -> None:
    async with aiohttp.ClientSession() as http:
        for path in ("/metrics", "/healthz", "/readyz", "/leaderz"):
            async with http.get(house.url + path) as response:
                assert response.status == 404


async def test_no_answer_names_the_server(house: House) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", int(house.url.rpartition(":")[2]))
    writer.write(b"GARBAGE\r\n\r\n")
    unreadable = (await reader.read()).lower()
    writer.close()
    async with aiohttp.ClientSession() as http, http.get(house.url) as response:
        headers = response.headers

    assert unreadable.startswith(b"http/1.")
    assert b"server:" not in unreadable
    assert "Server" not in headers


async def test_a_body_is_not_waited_for_where_the_headers_prove_nothing(house: House) -> None:
    """The answer comes although the body never does."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(house.url.rpartition(":")[2]))
    writer.write(
        b"POST /api/webhook HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\n"
        b"Content-Length: 5000\r\n\r\n"
    )
    async with asyncio.timeout(5):
        answered = await reader.read(64)
    writer.close()

    assert answered.startswith(b"HTTP/1.1 401")


async def test_no_secret_is_logged_or_answered(house: House) -> None:
    with capture_logs() as logs:
        _, told = await house.push(X_Hub_Signature_256="sha256=hush-hush")

    assert "hush" not in json.dumps(told) + str(logs)


async def test_readiness_lists_what_is_missing(house: House) -> None:
    house.readiness.wait_for("cluster", "the index is being filled")
    house.readiness.require("nats", lambda: "")

    status, body = await house.get("/readyz")

    assert (status, json.loads(body)["missing"]) == (503, {"cluster": "the index is being filled"})


async def test_ready_when_nothing_is_missing(house: House) -> None:
    house.readiness.wait_for("cluster", "soon")
    house.readiness.hold("cluster")

    assert (await house.get("/readyz"))[0] == 200
    assert await house.get("/healthz") == (200, "ok\n")


async def test_a_standby_is_ready_and_says_who_acts(house: House) -> None:
    house.readiness.wait_for("lease", "waiting", to_act=True)
    before = await house.get("/readyz")
    house.readiness.standby = "another agent acts: first"

    status, body = await house.get("/readyz")
    acting, told = await house.get("/leaderz")

    assert (before[0], status, acting) == (503, 200, 503)
    assert json.loads(body)["standby"] == "another agent acts: first"
    assert json.loads(told) == {"acting": False, "missing": {"lease": "waiting"}}


async def test_a_standby_that_lacks_something_else_is_not_ready(house: House) -> None:
    house.readiness.standby = "another agent acts: first"
    house.readiness.wait_for("lease", "waiting", to_act=True)
    house.readiness.require("bus", lambda: "NATS is away")

    status, body = await house.get("/readyz")

    assert (status, json.loads(body)["missing"]) == (503, {"bus": "NATS is away"})


async def test_metrics_can_be_scraped(house: House) -> None:
    await house.push()

    status, text = await house.get("/metrics")

    assert status == 200
    assert 'argocd_webhook_requests_total{outcome="accepted",provider="github"} 1.0' in text


async def test_a_cancelled_server_leaves_its_port(house: House) -> None:
    opened = asyncio.Event()
    ports: list[int] = []

    async def serve() -> None:
        async with serving(house.webhooks.application(), "127.0.0.1", 0) as port:
            ports.append(port)
            opened.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(serve(), name="serve")
    async with asyncio.timeout(10):
        await opened.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", ports[0])
