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
from cli.cluster_probe import cluster
from playground.certificates import (
    Authority,
    KeyPair,
    make_authority,
    make_client_pair,
    serving,
)
from playground.githost import GitHost, Login
from tests.flows.evidence import a_fact, carried, logged
from tests.flows.house import House, conditions, config_map
from tests.proxy import connect_proxy
from tests.support import eventually

pytestmark = pytest.mark.flow

HEALING = {"automated": {"prune": True, "selfHeal": True}}
REFRESH = {"metadata": {"annotations": {"argocd.argoproj.io/refresh": "normal"}}}
SECRET = "shop-repository"


@dataclass(slots=True, kw_only=True)
class Private:
    """A house whose repository is behind TLS, signed by an authority that nobody knows yet."""

    house: House
    authority: Authority
    stranger: Authority
    pair: KeyPair
    """A client that the authority has signed."""

    async def trust(self, authority: Authority) -> None:
        """As an administrator: the authority's certificate for the server's host."""
        host = urlsplit(self.house.repository.url).hostname
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "argocd-tls-certs-cm"},
            "data": {host: authority.certificate_file.read_text()},
        }
        path = f"/api/v1/namespaces/{self.house.namespace}/configmaps/argocd-tls-certs-cm"
        await self.house.api.apply(path, body)

    async def secret(self, **fields: str) -> None:
        """The repository's Secret in Argo CD's format."""
        labels = {"argocd.argoproj.io/secret-type": "repository"}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "labels": labels},
            "stringData": {"url": self.house.repository.url, **fields},
        }
        await self.house.api.create(f"/api/v1/namespaces/{self.house.namespace}/secrets", body)

    async def wants(self) -> str:
        """A commit and its Application; the commit's id."""
        sha = self.house.commit({"web/a.yaml": config_map("a", key="1")})
        await self.house.apply_app("web", "web", syncPolicy=HEALING)
        return sha

    async def until_synced_to(self, sha: str) -> dict[str, Any]:
        app = await self.house.until_synced("web")
        assert app["status"]["sync"]["revision"] == sha
        assert conditions(app) == {}
        return app


@asynccontextmanager
async def private(house: House, folder: Path, *, clients: bool = False) -> AsyncIterator[Private]:
    for name in ("trusted", "stranger", "server"):
        (folder / name).mkdir(parents=True)
    authority = make_authority(folder / "trusted")
    tls = serving(authority, folder / "server", clients=authority if clients else None)
    async with GitHost(folder / "git", tls) as host:
        house.repository = host.create("team/apps")
        yield Private(
            house=house,
            authority=authority,
            stranger=make_authority(folder / "stranger"),
            pair=make_client_pair(authority, folder / "trusted", "agent", "agents"),
        )


def error_of(app: Mapping[str, Any]) -> str:
    return conditions(app).get("ComparisonError", "")


async def test_a_private_authority_is_trusted_for_its_host(
    quiet_house: House, tmp_path: Path
) -> None:
    async with private(quiet_house, tmp_path / "tls") as world, quiet_house.running():
        await world.trust(world.authority)
        await world.until_synced_to(await world.wants())


async def test_an_unknown_authority_is_named_with_the_config_map_to_fill_and_filling_it_helps(
    quiet_house: House, tmp_path: Path
) -> None:
    house = quiet_house
    async with private(house, tmp_path / "tls") as world, house.running():
        await world.trust(world.stranger)
        sha = await world.wants()
        said = error_of(await house.until(error_of, app="web"))
        assert house.repository.url in said
        assert "certificate" in said
        assert "ConfigMap argocd-tls-certs-cm, key 127.0.0.1" in said
        assert "/dev/fd" not in said
        fact = await a_fact(house.parts.bus, RenderFailed, message=said)
        assert fact.reason is Reason.REPOSITORY_UNREACHABLE
        await world.trust(world.authority)
        certificates = house.parts.certificates
        wanted = world.authority.certificate_file.read_text()
        await eventually(lambda: certificates.for_url(house.repository.url) == wanted)
        await house.patch_app("web", REFRESH)
        await world.until_synced_to(sha)


async def test_check_trusts_whom_the_agent_trusts(quiet_house: House, tmp_path: Path) -> None:
    async with private(quiet_house, tmp_path / "tls") as world:
        await world.wants()

        async def fetched() -> list[bool]:
            findings = await cluster(quiet_house.settings)
            return [one.ok for one in findings if one.part == "git"]

        assert await fetched() == [False]
        await world.trust(world.authority)
        assert await fetched() == [True]


async def test_insecure_asks_for_no_certificate(quiet_house: House, tmp_path: Path) -> None:
    async with private(quiet_house, tmp_path / "tls") as world, quiet_house.running():
        await world.secret(insecure="true")
        await world.until_synced_to(await world.wants())


async def test_a_proxy_is_asked_for_the_way_and_sees_no_login(
    quiet_house: House, tmp_path: Path
) -> None:
    house = quiet_house
    async with (
        private(house, tmp_path / "tls") as world,
        connect_proxy() as proxy,
        house.running(),
    ):
        house.repository.login = Login(user="kim", password="a-password-nobody-may-see")
        await world.trust(world.authority)
        login = {"username": "kim", "password": "a-password-nobody-may-see"}
        await world.secret(proxy=f"http://127.0.0.1:{proxy.port}", **login)
        await world.until_synced_to(await world.wants())
        host = urlsplit(house.repository.url).netloc
        assert {line.split()[1] for line in proxy.asked} == {host}
        assert {line.split()[0] for line in proxy.asked} == {"CONNECT"}


async def test_a_certificate_of_our_own_opens_the_server_and_is_on_no_disk(
    quiet_house: House, tmp_path: Path
) -> None:
    house = quiet_house
    async with private(house, tmp_path / "tls", clients=True) as world, house.running():
        await world.trust(world.authority)
        key = world.pair.key_file.read_text()
        await world.secret(
            tlsClientCertData=world.pair.certificate_file.read_text(), tlsClientCertKey=key
        )
        await world.until_synced_to(await world.wants())
        kept = [path for path in house.settings.state_dir.rglob("*") if path.is_file()]
        assert not [path for path in kept if key.encode() in path.read_bytes()]
        assert key.splitlines()[1] not in await carried(house.parts.bus)


async def test_a_server_that_wants_a_certificate_of_ours_says_so(
    quiet_house: House, tmp_path: Path
) -> None:
    house = quiet_house
    async with private(house, tmp_path / "tls", clients=True) as world, house.running():
        await world.trust(world.authority)
        await world.wants()
        said = error_of(await house.until(error_of, app="web"))
        assert "check tlsClientCertData and tlsClientCertKey of the Secret" in said


async def test_half_a_certificate_is_refused_with_its_secret_and_no_key_is_shown(
    quiet_house: House, tmp_path: Path
) -> None:
    house = quiet_house
    with logged() as log:
        async with private(house, tmp_path / "tls", clients=True) as world, house.running():
            await world.trust(world.authority)
            key = world.pair.key_file.read_text()
            await world.secret(tlsClientCertKey=key)
            await world.wants()
            said = error_of(await house.until(error_of, app="web"))
            assert f"Secret {house.namespace}/{SECRET}" in said
            assert "tlsClientCertData" in said
            assert key.splitlines()[1] not in said + log.getvalue()
