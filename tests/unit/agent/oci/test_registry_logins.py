"""Logins of registries that Azure and Google issue: a table of what their documentation says.

Neither service can be had in a test. The proxy that stands for the internet leads the registry's
name to a host on loopback; TLS, its certificate and the forms are real.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from agent.download.failures import DownloadServer
from agent.git.credentials import SECRET_TYPE, Secret
from agent.git.issued_logins.issued_logins import IssuedLogins
from agent.git.repository_secrets import credential_for
from agent.oci.registry_logins import RegistryLogins
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.ports import RepositoryError
from playground.certificates import make_authority, make_serving_pair
from tests.connect_proxy import connect_proxy
from tests.unit.agent.git.login_host import LoginHost, login_host
from tests.unit.agent.git.test_issued_logins import LoginHostTrust

REGISTRY = "oci://team.azurecr.io/charts/web"
GOOGLE = "oci://europe-docker.pkg.dev/project/charts/web"


class Exchange:
    """The registry's own part: a token of the resource manager for one of its own."""

    def __init__(self) -> None:
        self.forms: list[dict[str, str]] = []
        self.status = 200
        self.port = 0
        self.authority = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.forms.append({name: str(value) for name, value in (await request.post()).items()})
        body = {"refresh_token": f"refresh-{len(self.forms)}"}
        return web.json_response(body, status=self.status)


@pytest.fixture
async def exchange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Exchange]:
    found, folder = Exchange(), tmp_path / "registry"
    folder.mkdir()
    authority = make_authority(folder)
    found.authority = authority.certificate_file.read_text()
    pair = make_serving_pair(authority, folder, ("team.azurecr.io",))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.certificate_file, pair.key_file)
    app = web.Application()
    app.router.add_post("/oauth2/exchange", found.answer)
    server = TestServer(app, scheme="https")
    await server.start_server(ssl=context)
    found.port = server.port or 0
    async with connect_proxy(lambda _host, _port: ("127.0.0.1", found.port)) as proxy:
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.port}")
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        yield found
    await server.close()


@pytest.fixture
async def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LoginHost]:
    """Microsoft's and Google's own part; and the pod has an identity."""
    (tmp_path / "token").write_text("the-pod\n")
    async with login_host(tmp_path / "login-host") as opened:
        monkeypatch.setenv("AZURE_CLIENT_ID", "client")
        monkeypatch.setenv("AZURE_TENANT_ID", "tenant")
        monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(tmp_path / "token"))
        monkeypatch.setenv("AZURE_AUTHORITY_HOST", opened.url)
        yield opened


def server_of(url: str, **data: str) -> DownloadServer:
    labels = {SECRET_TYPE: "repository"}
    fields = {"url": url, "type": "oci", **data}
    secret = Secret(namespace="argocd", name="charts", labels=labels, data=fields)
    address = RepositoryUrl.parse(url)
    credential = credential_for([secret], address, "default")
    return DownloadServer(name=url, host=address.origin.host, credential=credential)


class RegistryTrust(LoginHostTrust):
    """Each server has an authority of its own."""

    def __init__(self, host: LoginHost, exchange: Exchange) -> None:
        super().__init__(host.authority)
        self._registry = exchange.authority

    def authority(self, url: str) -> str:
        return self._registry if "azurecr.io" in url else super().authority(url)


async def signed_in(logins: RegistryLogins, url: str, **data: str) -> tuple[str, str]:
    found = await logins.signed_in(server_of(url, **data), RepositoryUrl.parse(url))
    assert found.credential is not None
    return found.credential.username, found.credential.password


async def test_a_registry_of_azure_exchanges_the_identity_of_the_pod_once(
    host: LoginHost, exchange: Exchange
) -> None:
    logins = RegistryLogins(IssuedLogins(RegistryTrust(host, exchange)))
    for _ in range(2):
        user, password = await signed_in(logins, REGISTRY, useAzureWorkloadIdentity="true")
        assert (user, password) == ("00000000-0000-0000-0000-000000000000", "refresh-1")
    assert host.forms[0]["client_assertion"] == "the-pod"
    assert host.forms[0]["scope"] == "https://management.core.windows.net/.default"
    assert exchange.forms == [
        {"grant_type": "access_token", "service": "team.azurecr.io", "access_token": "issued-0"}
    ]


async def test_a_registry_that_refuses_the_identity_says_which_role_is_missing(
    host: LoginHost, exchange: Exchange
) -> None:
    exchange.status = 401
    logins = RegistryLogins(IssuedLogins(RegistryTrust(host, exchange)))
    with pytest.raises(RepositoryError, match="identity client the role AcrPull") as found:
        await signed_in(logins, REGISTRY, useAzureWorkloadIdentity="true")
    assert found.value.reason is Reason.CREDENTIALS_REFUSED


@pytest.mark.parametrize(
    "url",
    [
        "oci://registry.example/charts/web",
        "oci://azurecr.io.example/charts/web",
        "oci://xazurecr.io/charts/web",
        "oci://team.azurecr.io:8443/charts/web",
    ],
)
async def test_the_identity_of_the_pod_is_shown_to_registries_of_azure_alone(
    host: LoginHost, url: str
) -> None:
    logins = RegistryLogins(IssuedLogins(LoginHostTrust(host.authority)))
    with pytest.raises(RepositoryError, match="is not shown to"):
        await signed_in(logins, url, useAzureWorkloadIdentity="true")
    assert host.asked == []


async def test_no_issued_login_goes_to_a_registry_without_tls(host: LoginHost) -> None:
    logins = RegistryLogins(IssuedLogins(LoginHostTrust(host.authority)))
    plain = {"useAzureWorkloadIdentity": "true", "insecureOCIForceHttp": "true"}
    with pytest.raises(RepositoryError, match="not sent without TLS"):
        await signed_in(logins, REGISTRY, **plain)
    assert host.asked == []


async def test_an_account_of_google_is_a_token_for_its_registries(host: LoginHost) -> None:
    file = {
        "type": "service_account",
        "client_email": "agent@project.example",
        "private_key": host.key(),
        "private_key_id": "k1",
        "token_uri": f"{host.url}/token",
    }
    logins = RegistryLogins(IssuedLogins(LoginHostTrust(host.authority)))
    found = await signed_in(logins, GOOGLE, gcpServiceAccountKey=json.dumps(file))
    assert found == ("oauth2accesstoken", "issued-0")


async def test_an_app_of_github_is_no_login_of_a_registry(host: LoginHost) -> None:
    data = {"githubAppID": "1", "githubAppPrivateKey": host.key()}
    logins = RegistryLogins(IssuedLogins(LoginHostTrust(host.authority)))
    assert await signed_in(logins, REGISTRY, **data) == ("", "")
    assert host.asked == []
