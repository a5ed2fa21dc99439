"""Git over TLS: a private authority, none at all, a certificate of our own, and a proxy between."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from bus.events import RenderFailed
from bus.status import Reason
from cli.local.cluster_probe import cluster
from playground.certificates import (
    Authority,
    KeyPair,
    make_authority,
    make_client_pair,
    serving,
)
from playground.githost import GitHost, HostLogin
from tests.connect_proxy import connect_proxy
from tests.flows.agent_fixture import AgentFixture, conditions, config_map
from tests.flows.evidence import a_fact, carried, logged
from tests.support import eventually

pytestmark = pytest.mark.usefixtures("own_servers")

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
SECRET = "shop-repository"


@dataclass(slots=True, kw_only=True)
class Private:
    """An agent whose repository is behind TLS, signed by an authority that nobody knows yet."""

    agent: AgentFixture
    authority: Authority
    stranger: Authority
    pair: KeyPair
    """A client that the authority has signed."""

    async def trust(self, authority: Authority) -> None:
        """As an administrator: the authority's certificate for the server's host."""
        host = urlsplit(self.agent.repository.url).hostname
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "argocd-tls-certs-cm"},
            "data": {host: authority.certificate_file.read_text()},
        }
        path = f"/api/v1/namespaces/{self.agent.namespace}/configmaps/argocd-tls-certs-cm"
        await self.agent.api.apply(path, body)

    async def secret(self, **fields: str) -> None:
        """The repository's Secret in Argo CD's format."""
        labels = {"argocd.argoproj.io/secret-type": "repository"}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "labels": labels},
            "stringData": {"url": self.agent.repository.url, **fields},
        }
        await self.agent.api.create(f"/api/v1/namespaces/{self.agent.namespace}/secrets", body)

    async def wants(self) -> str:
        """A commit and its Application; the commit's id."""
        sha = self.agent.commit({"web/a.yaml": config_map("a", key="1")})
        await self.agent.apply_app("web", "web", syncPolicy=HEALING)
        return sha

    async def until_synced_to(self, sha: str) -> dict[str, Any]:
        app = await self.agent.until_synced("web")
        assert app["status"]["sync"]["revision"] == sha
        assert conditions(app) == {}
        return app


@asynccontextmanager
async def private(
    agent: AgentFixture, folder: Path, *, clients: bool = False
) -> AsyncIterator[Private]:
    for name in ("trusted", "stranger", "server"):
        (folder / name).mkdir(parents=True)
    authority = make_authority(folder / "trusted")
    tls = serving(authority, folder / "server", clients=authority if clients else None)
    async with GitHost(folder / "git", tls) as host:
        agent.repository = host.create("team/apps")
        yield Private(
            agent=agent,
            authority=authority,
            stranger=make_authority(folder / "stranger"),
            pair=make_client_pair(authority, folder / "trusted", "agent", "agents"),
        )


def error_of(app: Mapping[str, Any]) -> str:
    return conditions(app).get("ComparisonError", "")


async def test_a_private_authority_is_trusted_for_its_host(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    async with private(stopped_agent, tmp_path / "tls") as private_host, stopped_agent.running():
        await private_host.trust(private_host.authority)
        await private_host.until_synced_to(await private_host.wants())


async def test_an_unknown_authority_is_named_with_the_config_map_to_fill_and_filling_it_helps(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    agent = stopped_agent
    async with private(agent, tmp_path / "tls") as private_host, agent.running():
        await private_host.trust(private_host.stranger)
        sha = await private_host.wants()
        error = error_of(await agent.until(error_of, app="web"))
        assert agent.repository.url in error
        assert "certificate" in error
        assert "ConfigMap argocd-tls-certs-cm, key 127.0.0.1" in error
        assert "/dev/fd" not in error
        fact = await a_fact(agent.parts.bus, RenderFailed, message=error)
        assert fact.reason is Reason.REPOSITORY_UNREACHABLE
        await private_host.trust(private_host.authority)
        trust = agent.parts.git_trust
        certificate = private_host.authority.certificate_file.read_text()
        await eventually(lambda: trust.authority(agent.repository.url) == certificate)
        await agent.patch_app("web", REFRESH)
        await private_host.until_synced_to(sha)


async def test_check_trusts_whom_the_agent_trusts(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    async with private(stopped_agent, tmp_path / "tls") as private_host:
        await private_host.wants()

        async def fetched() -> list[bool]:
            findings = await cluster(stopped_agent.settings)
            return [one.ok for one in findings if one.part == "git"]

        assert await fetched() == [False]
        await private_host.trust(private_host.authority)
        assert await fetched() == [True]


async def test_insecure_asks_for_no_certificate(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    async with private(stopped_agent, tmp_path / "tls") as private_host, stopped_agent.running():
        await private_host.secret(insecure="true")
        await private_host.until_synced_to(await private_host.wants())


async def test_a_proxy_is_asked_for_the_way_and_sees_no_login(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    agent = stopped_agent
    async with (
        private(agent, tmp_path / "tls") as private_host,
        connect_proxy() as proxy,
        agent.running(),
    ):
        agent.repository.login = HostLogin(user="kim", password="a-password-nobody-may-see")
        await private_host.trust(private_host.authority)
        login = {"username": "kim", "password": "a-password-nobody-may-see"}
        await private_host.secret(proxy=f"http://127.0.0.1:{proxy.port}", **login)
        await private_host.until_synced_to(await private_host.wants())
        host = urlsplit(agent.repository.url).netloc
        assert {line.split()[1] for line in proxy.asked} == {host}
        assert {line.split()[0] for line in proxy.asked} == {"CONNECT"}


async def test_a_certificate_of_our_own_opens_the_server_and_is_on_no_disk(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    agent = stopped_agent
    async with private(agent, tmp_path / "tls", clients=True) as private_host, agent.running():
        await private_host.trust(private_host.authority)
        key = private_host.pair.key_file.read_text()
        await private_host.secret(
            tlsClientCertData=private_host.pair.certificate_file.read_text(), tlsClientCertKey=key
        )
        await private_host.until_synced_to(await private_host.wants())
        kept = [path for path in agent.settings.state_dir.rglob("*") if path.is_file()]
        assert not [path for path in kept if key.encode() in path.read_bytes()]
        assert key.splitlines()[1] not in await carried(agent.parts.bus)


async def test_a_server_that_wants_a_certificate_of_ours_says_so(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    agent = stopped_agent
    async with private(agent, tmp_path / "tls", clients=True) as private_host, agent.running():
        await private_host.trust(private_host.authority)
        await private_host.wants()
        words = "check tlsClientCertData and tlsClientCertKey of the Secret"
        await agent.until(lambda app: words in error_of(app), app="web")


async def test_half_a_certificate_is_refused_with_its_secret_and_no_key_is_shown(
    stopped_agent: AgentFixture, tmp_path: Path
) -> None:
    agent = stopped_agent
    with logged() as log:
        async with private(agent, tmp_path / "tls", clients=True) as private_host, agent.running():
            await private_host.trust(private_host.authority)
            key = private_host.pair.key_file.read_text()
            await private_host.secret(tlsClientCertKey=key)
            await private_host.wants()
            app = await agent.until(lambda app: "tlsClientCertData" in error_of(app), app="web")
            error = error_of(app)
            assert f"Secret {agent.namespace}/{SECRET}" in error
            assert key.splitlines()[1] not in error + log.getvalue()
