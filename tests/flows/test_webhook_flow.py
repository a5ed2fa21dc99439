"""The front door and the command line on a real bus: bursts, facts, and what can be reached."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import uuid
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from agent.ingress.delivery_intake import DeliveryIntake
from agent.ingress.pending_asks import SharedPublish
from agent.ingress.server import WebhookServer
from agent.ingress.webhooks.providers.github import sign
from agent.ingress.webhooks.webhook_secrets import WebhookSecrets
from agent.observe.metrics import make_metrics
from bus.events import HealthAssessed, RefreshRepository
from bus.http.server import serving
from bus.identity import AppKey, RepositoryKey
from bus.jetstream import Bus, BusSettings
from bus.status import HealthStatus
from bus.subjects import subject_of
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec, Source
from tests.flows.agent_fixture import AgentFixture, config_map
from tests.paths import REPOSITORY

ROOT = REPOSITORY
URL = "https://git.example/shop"
SHOP, WEB = AppKey("argocd", "shop"), AppKey("argocd", "web")


class DeliveredRepository:
    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        return [RepositoryKey.of(URL)] if delivery_key == "git.example/shop" else ()

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        source = Source(repo_url=URL, target_revision="main")
        app = Application(metadata=Metadata(name="shop"), spec=ApplicationSpec(source=source))
        return [app] if app.repository == repository else ()


@pytest.fixture
async def bus(nats_url: str) -> AsyncIterator[Bus]:
    settings = BusSettings(url=nats_url, account=f"t{uuid.uuid4().hex[:8]}", agent="prod1")
    async with Bus.open(settings) as opened:
        await opened.provision()
        yield opened


async def push(port: int, number: int) -> str:
    body = json.dumps(
        {
            "ref": "refs/heads/main",
            "before": "a" * 40,
            "after": f"{number:040x}",
            "repository": {"clone_url": URL},
        }
    ).encode()
    headers = {
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": f"d{number}",
        "X-Hub-Signature-256": sign(b"hush", body),
        "Content-Type": "application/json",
    }
    async with (
        aiohttp.ClientSession() as http,
        http.post(f"http://127.0.0.1:{port}/api/webhook", data=body, headers=headers) as response,
    ):
        answer = await response.json()
        return str(answer["outcome"])


async def test_a_burst_of_pushes_waits_as_one_ask(bus: Bus) -> None:
    take = DeliveryIntake(
        apps=DeliveredRepository(),
        publish=SharedPublish(publish=bus.publish),
        secrets=lambda: WebhookSecrets(values={"webhook.github.secret": b"hush"}),
    )
    server = WebhookServer(take=take, metrics=make_metrics(), body_limit=1_000_000)
    async with serving(server.application(), "127.0.0.1", 0) as port:
        outcomes = [await push(port, number) for number in (1, 2, 3, 3)]

    stream = await bus.connection.jetstream.stream_info(bus.scope.name("ASK"))
    ask = RefreshRepository(repository=RepositoryKey.of(URL))
    subject = subject_of(bus.scope, ask)
    waiting = await bus.connection.jetstream.get_last_msg(bus.scope.name("ASK"), subject)
    assert outcomes == ["accepted", "accepted", "accepted", "duplicate"]
    assert stream.state.messages == 1
    assert b"refs/heads/main" in (waiting.data or b"")


async def gitops(*arguments: str, **variables: str) -> tuple[int, str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITOPS_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from cli.main import main; main()",
        *arguments,
        cwd=ROOT,
        env={**clean, **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(180):
        out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


def assessed(app: AppKey) -> HealthAssessed:
    return HealthAssessed(app=app, status=HealthStatus.HEALTHY)


async def test_events_replays_the_facts_of_one_application(bus: Bus) -> None:
    await bus.publish(assessed(SHOP), assessed(WEB))
    settings = {
        "GITOPS_NATS_URL": bus.settings.url,
        "GITOPS_ACCOUNT": bus.settings.account,
        "GITOPS_AGENT": bus.settings.agent,
    }

    code, out, err = await gitops("events", "--app", "shop", "--json", **settings)

    assert (code, err) == (0, "")
    (fact,) = [json.loads(line) for line in out.splitlines()]
    assert (fact["specversion"], fact["subject"]) == ("1.0", "argocd/shop")
    assert fact["type"].endswith("health.assessed.v1")
    assert fact["data"]["status"] == "Healthy"


async def test_events_follows_what_happens_next(bus: Bus) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from cli.main import main; main()",
        "events",
        "--follow",
        "--nats",
        bus.settings.url,
        cwd=ROOT,
        env={
            **os.environ,
            "GITOPS_ACCOUNT": bus.settings.account,
            "GITOPS_AGENT": bus.settings.agent,
        },
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(180):
            await bus.publish(assessed(SHOP))
            first = await process.stdout.readline()
            await bus.publish(assessed(WEB))
            second = await process.stdout.readline()
    finally:
        process.terminate()
        await process.wait()

    assert b"argocd/shop" in first
    assert b"argocd/web" in second
    assert "health Unknown → Healthy" in second.decode()


async def test_check_tells_what_answers_and_what_does_not(
    nats_url: str, redis_url: str, sandbox_binary: Path, tmp_path: Path
) -> None:
    settings = {
        "GITOPS_NATS_URL": nats_url,
        "GITOPS_REDIS_URL": redis_url,
        "GITOPS_SANDBOX_BINARY": str(sandbox_binary),
        "GITOPS_STATE_DIR": str(tmp_path / "state"),
        "GITOPS_KUBE_KUBECONFIG": str(tmp_path / "absent"),
    }

    code, out, _ = await gitops("agent", "check", "--json", **settings)

    found: dict[str, Any] = {each["part"]: each for each in map(json.loads, out.splitlines())}
    assert code == 1
    assert {part: each["ok"] for part, each in found.items()} == {
        "settings": True,
        "disk": True,
        "sandbox": True,
        "nats": True,
        "redis": True,
        "plugins": True,
        "cluster": False,
    }
    assert found["cluster"]["remedy"]


async def test_check_finds_rights_and_repositories_of_a_cluster(
    stopped_agent: AgentFixture,
) -> None:
    agent = stopped_agent
    agent.commit({"web/a.yaml": config_map("a", x="1")})
    await agent.apply_app("web", "web")
    await agent.apply_app("lost", "web", source={"repoURL": f"{agent.repository.url}-gone"})
    chosen = agent.settings
    assert chosen.nats.url is not None
    settings = {
        "GITOPS_NATS_URL": chosen.nats.url.get_secret_value(),
        "GITOPS_NAMESPACE": chosen.namespace,
        "GITOPS_DESTINATION_NAMESPACES": ",".join(chosen.destination_namespaces),
        "GITOPS_KUBE_KUBECONFIG": str(chosen.kube.kubeconfig),
        "GITOPS_SANDBOX_BINARY": str(chosen.sandbox.binary),
        "GITOPS_STATE_DIR": str(chosen.state_dir),
    }

    code, out, _ = await gitops("agent", "check", "--json", **settings)

    found = [json.loads(line) for line in out.splitlines()]
    assert [each["ok"] for each in found if each["part"] == "cluster"] == [True]
    assert [each for each in found if each["part"] == "rights"] == []
    assert sorted(each["ok"] for each in found if each["part"] == "git") == [False, True]
    assert code == 1
