"""The HTTP front door, spoken to over HTTP; the bus behind it is a list."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs
from yarl import URL

from agent.ingress.delivery_intake import DeliveryIntake, warn_of_unproven
from agent.ingress.pending_asks import SharedPublish
from agent.ingress.server import MetricsServer, WebhookServer
from agent.ingress.webhooks.providers import PROVIDERS
from agent.ingress.webhooks.providers.github import sign
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets
from agent.observe.health import Readiness
from agent.observe.metrics import make_metrics
from bus.carrier import CarrierError
from bus.events import Event, RefreshRepository
from bus.http.server import serving
from bus.identity import RepositoryKey
from bus.spans import Spans
from bus.subjects import AgentScope, subject_of
from bus.trace import Trace
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec, Source
from tests.spans import KeptSpans

LIMIT = 10_000
SECRET = b"hush"
OF_GITHUB = {"webhook.github.secret": SECRET}
OTHERS = sum(not OF_GITHUB.keys() & {*it.secret_keys} for it in PROVIDERS)
"""Providers that have no secret then: that of GitHub is for its registry too."""


class OneApplication:
    """One Application that follows `main` over plain HTTP."""

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        shop = RepositoryKey("http://git.example/shop.git")
        return [shop] if delivery_key == "git.example/shop" else ()

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        if str(repository) != "http://git.example/shop.git":
            return ()
        source = Source(repo_url="http://git.example/shop.git", target_revision="main")
        return [Application(metadata=Metadata(name="shop"), spec=ApplicationSpec(source=source))]


class RecordingBus:
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


class IngressFixture:
    def __init__(self) -> None:
        self.bus = RecordingBus()
        self.readiness = Readiness()
        self.metrics = make_metrics()
        self.kept = KeptSpans()
        take = DeliveryIntake(
            apps=OneApplication(),
            publish=SharedPublish(publish=self.bus.publish),
            secrets=lambda: WebhookSecrets(values={**OF_GITHUB, "webhook.quay.secret": b"quay"}),
            spans=Spans(sinks=(self.kept,)),
        )
        self.webhooks = WebhookServer(take=take, metrics=self.metrics, body_limit=LIMIT)
        self.monitoring = MetricsServer(readiness=self.readiness, metrics=self.metrics)
        self.url = self.metrics_url = ""

    @property
    def address(self) -> tuple[str, int]:
        url = URL(self.url)
        return url.host or "", url.port or 0

    async def get(self, path: str) -> tuple[int, str]:
        async with aiohttp.ClientSession() as http, http.get(self.metrics_url + path) as response:
            return response.status, await response.text()

    async def push(self, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        content = payload() if body is None else body
        values = {
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": "d1",
            "Content-Type": "application/json",
            "X-Hub-Signature-256": sign(SECRET, content),
        } | {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.post("/api/webhook", content, values)

    async def post(
        self, path: str, content: bytes, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        async with (
            aiohttp.ClientSession() as http,
            http.post(self.url + path, data=content, headers=headers) as response,
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
async def ingress_fixture() -> AsyncIterator[IngressFixture]:
    made = IngressFixture()
    async with (
        serving(made.webhooks.application(), "127.0.0.1", 0) as port,
        serving(made.monitoring.application(), "127.0.0.1", 0) as metrics_port,
    ):
        made.url = f"http://127.0.0.1:{port}"
        made.metrics_url = f"http://127.0.0.1:{metrics_port}"
        yield made


async def test_a_push_is_published_under_the_spelling_in_use(
    ingress_fixture: IngressFixture,
) -> None:
    status, answer = await ingress_fixture.push()

    assert (status, answer["outcome"]) == (200, "accepted")
    assert answer["repositories"] == ["http://git.example/shop.git"]
    ask = RefreshRepository(
        repository=RepositoryKey("http://git.example/shop.git"), ref="refs/heads/main"
    )
    ((event, message_id),) = ingress_fixture.bus.published
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
    ingress_fixture: IngressFixture,
    body: bytes | None,
    headers: dict[str, str],
    status: int,
    outcome: str,
) -> None:
    with capture_logs() as logs:
        code, answer = await ingress_fixture.push(body, **headers)

    assert (code, answer["outcome"]) == (status, outcome)
    assert answer["message"]
    assert status == 200 or answer["remedy"]
    assert [line["outcome"] for line in logs if line["event"] == "webhook"] == [outcome]
    assert ingress_fixture.counted(outcome) == 1
    assert ingress_fixture.bus.published == []


async def test_an_unknown_sender_is_told_apart(ingress_fixture: IngressFixture) -> None:
    async with (
        aiohttp.ClientSession() as http,
        http.post(ingress_fixture.url + "/api/webhook", data=b"{}") as response,
    ):
        assert response.status == 400
        assert (await response.json())["outcome"] == "unknown_provider"


@pytest.mark.parametrize(
    ("address", "size", "status", "outcome"),
    [
        ("/api/webhook/quay?token=quay", 0, 200, "accepted"),
        ("/api/webhook/quay?token=quay", LIMIT, 413, "too_large"),
        ("/api/webhook/quay?token=hush", 900_000, 401, "unauthorized"),
        ("/api/webhook/quay", 0, 401, "unauthorized"),
        ("/api/webhook/dockerhub?token=quay", 0, 401, "unauthorized"),
        ("/api/webhook/github?token=quay", 0, 400, "unknown_provider"),
        ("/api/webhook/%3Aprovider", 0, 400, "unknown_provider"),
    ],
)
async def test_an_address_names_the_sender_and_carries_its_token(
    ingress_fixture: IngressFixture, address: str, size: int, status: int, outcome: str
) -> None:
    pushed = {"docker_url": "git.example/shop", "updated_tags": ["1.0"], "more": "x" * size}
    code, answer = await ingress_fixture.post(address, json.dumps(pushed).encode())
    asks = [event for event, _ in ingress_fixture.bus.published]
    assert (code, answer["outcome"], len(asks)) == (status, outcome, outcome == "accepted")


async def test_a_header_does_not_speak_for_the_address(ingress_fixture: IngressFixture) -> None:
    """The parser of HTTP takes no name with a colon; what it made of one would be another name."""
    reader, writer = await asyncio.open_connection(*ingress_fixture.address)
    writer.write(
        b"POST /api/webhook HTTP/1.1\r\nHost: x\r\n:provider: quay\r\n:token: quay\r\n"
        b"Content-Length: 2\r\nConnection: close\r\n\r\n{}"
    )
    async with asyncio.timeout(120):
        answer = await reader.read()
    writer.close()
    assert b" 400 " in answer.partition(b"\r\n")[0]
    assert b"accepted" not in answer
    assert ingress_fixture.bus.published == []


async def test_a_chunked_body_without_a_length_is_cut_off_too(
    ingress_fixture: IngressFixture,
) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(1000):
            yield b" " * 1000

    headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": "sha256=0"}
    async with (
        aiohttp.ClientSession() as http,
        http.post(
            ingress_fixture.url + "/api/webhook", data=endless(), headers=headers
        ) as response,
    ):
        assert response.status == 413


async def test_a_delivery_sent_again_is_published_once(ingress_fixture: IngressFixture) -> None:
    outcomes = [(await ingress_fixture.push())[1]["outcome"] for _ in range(2)]

    assert outcomes == ["accepted", "duplicate"]
    assert len(ingress_fixture.bus.published) == 1


async def test_a_delivery_that_could_not_be_published_may_come_again(
    ingress_fixture: IngressFixture,
) -> None:
    ingress_fixture.bus.lost = True
    first = await ingress_fixture.push()
    ingress_fixture.bus.lost = False
    second = await ingress_fixture.push()

    assert (first[0], first[1]["outcome"]) == (503, "unavailable")
    assert second[1]["outcome"] == "accepted"


async def test_a_burst_to_one_repository_is_one_subject(ingress_fixture: IngressFixture) -> None:
    """The bus keeps one waiting ask a subject, so the burst is one look at the repository."""
    for number in range(5):
        await ingress_fixture.push(payload(after=str(number) * 40), X_GitHub_Delivery=f"d{number}")

    scope = AgentScope("acme", "prod1")
    assert len(ingress_fixture.bus.published) == 5
    assert len({subject_of(scope, event) for event, _ in ingress_fixture.bus.published}) == 1
    assert len({message_id for _, message_id in ingress_fixture.bus.published}) == 5


async def test_a_push_is_the_root_of_a_trace_that_its_asks_go_on(
    ingress_fixture: IngressFixture,
) -> None:
    await ingress_fixture.push()

    (span,) = ingress_fixture.kept.spans
    assert span.parent is None
    assert span.trace == ingress_fixture.bus.trace


async def test_a_trace_that_the_sender_began_is_gone_on_with(
    ingress_fixture: IngressFixture,
) -> None:
    await ingress_fixture.push(traceparent=f"00-{'1' * 32}-{'2' * 16}-01")

    (span,) = ingress_fixture.kept.spans
    assert span.trace.trace_id == "1" * 32
    assert span.parent is not None
    assert span.parent.span_id == "2" * 16


@pytest.mark.parametrize(
    ("secrets", "levels"),
    [
        (WebhookSecrets(values=OF_GITHUB), ["info"] * OTHERS),
        (WebhookSecrets(values=OF_GITHUB, unproven=True), ["warning"] * OTHERS),
        (WebhookSecrets(), ["warning"] * len(PROVIDERS)),
        (WebhookSecrets(values={key: SECRET for it in PROVIDERS for key in it.secret_keys}), []),
    ],
    ids=["refused", "believed by the switch", "believed, as none is set", "proven"],
)
def test_what_is_made_of_a_host_without_a_secret_is_said(
    secrets: WebhookSecrets, levels: list[str]
) -> None:
    with capture_logs() as logs:
        warn_of_unproven(secrets)

    assert [line["log_level"] for line in logs] == levels


async def test_health_and_metrics_are_not_on_the_webhooks_port(
    ingress_fixture: IngressFixture,
) -> None:
    async with aiohttp.ClientSession() as http:
        for path in ("/metrics", "/healthz", "/readyz", "/leaderz"):
            async with http.get(ingress_fixture.url + path) as response:
                assert response.status == 404


async def test_no_answer_names_the_server(ingress_fixture: IngressFixture) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(ingress_fixture.url.rpartition(":")[2])
    )
    writer.write(b"GARBAGE\r\n\r\n")
    unreadable = (await reader.read()).lower()
    writer.close()
    async with aiohttp.ClientSession() as http, http.get(ingress_fixture.url) as response:
        headers = response.headers

    assert unreadable.startswith(b"http/1.")
    assert b"server:" not in unreadable
    assert "Server" not in headers


async def test_a_body_is_not_waited_for_where_the_headers_prove_nothing(
    ingress_fixture: IngressFixture,
) -> None:
    """The answer comes although the body never does."""
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", int(ingress_fixture.url.rpartition(":")[2])
    )
    writer.write(
        b"POST /api/webhook HTTP/1.1\r\nHost: x\r\nX-GitHub-Event: push\r\n"
        b"Content-Length: 5000\r\n\r\n"
    )
    async with asyncio.timeout(60):
        answered = await reader.read(64)
    writer.close()

    assert answered.startswith(b"HTTP/1.1 401")


async def test_no_secret_is_logged_or_answered(ingress_fixture: IngressFixture) -> None:
    with capture_logs() as logs:
        _, answer = await ingress_fixture.push(X_Hub_Signature_256="sha256=hush-hush")

    assert "hush" not in json.dumps(answer) + str(logs)


async def test_readiness_lists_what_is_missing(ingress_fixture: IngressFixture) -> None:
    ingress_fixture.readiness.wait_for("cluster", "the index is being filled")
    ingress_fixture.readiness.require("nats", lambda: "")

    status, body = await ingress_fixture.get("/readyz")

    assert (status, json.loads(body)["missing"]) == (503, {"cluster": "the index is being filled"})


async def test_ready_when_nothing_is_missing(ingress_fixture: IngressFixture) -> None:
    ingress_fixture.readiness.wait_for("cluster", "soon")
    ingress_fixture.readiness.hold("cluster")

    assert (await ingress_fixture.get("/readyz"))[0] == 200
    assert await ingress_fixture.get("/healthz") == (200, "ok\n")


async def test_a_standby_is_ready_and_says_who_acts(ingress_fixture: IngressFixture) -> None:
    ingress_fixture.readiness.wait_for("lease", "waiting", to_act=True)
    before = await ingress_fixture.get("/readyz")
    ingress_fixture.readiness.standby = "another agent acts: first"

    status, body = await ingress_fixture.get("/readyz")
    acting, answer = await ingress_fixture.get("/leaderz")

    assert (before[0], status, acting) == (503, 200, 503)
    assert json.loads(body)["standby"] == "another agent acts: first"
    assert json.loads(answer) == {"acting": False, "missing": {"lease": "waiting"}}


async def test_a_standby_that_lacks_something_else_is_not_ready(
    ingress_fixture: IngressFixture,
) -> None:
    ingress_fixture.readiness.standby = "another agent acts: first"
    ingress_fixture.readiness.wait_for("lease", "waiting", to_act=True)
    ingress_fixture.readiness.require("bus", lambda: "NATS is away")

    status, body = await ingress_fixture.get("/readyz")

    assert (status, json.loads(body)["missing"]) == (503, {"bus": "NATS is away"})


async def test_metrics_can_be_scraped(ingress_fixture: IngressFixture) -> None:
    await ingress_fixture.push()

    status, text = await ingress_fixture.get("/metrics")

    assert status == 200
    assert 'argocd_webhook_requests_total{outcome="accepted",provider="github"} 1.0' in text


async def test_a_cancelled_server_leaves_its_port(ingress_fixture: IngressFixture) -> None:
    opened = asyncio.Event()
    ports: list[int] = []

    async def serve() -> None:
        async with serving(ingress_fixture.webhooks.application(), "127.0.0.1", 0) as port:
            ports.append(port)
            opened.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(serve(), name="serve")
    async with asyncio.timeout(60):
        await opened.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", ports[0])
