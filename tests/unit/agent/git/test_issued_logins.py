"""Logins that a host issues: asked for in time, kept, renewed, and never shown."""

import json
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest

from agent.git.credentials import SECRET_TYPE, GitCredential, Secret
from agent.git.issued_logins.issued_logins import IssuedLogins
from agent.git.issued_logins.issuer import LoginIssueError
from agent.git.mirrors import Mirrors, MirrorSettings
from agent.git.repository_secrets import SecretCredentials, credential_for
from agent.git.server_trust import MachineTrust
from bus.repository_url import RepositoryUrl
from bus.status import Reason
from handlers.ports import RepositoryError
from playground.githost import GitHost, HostedRepository, HostLogin
from tests.unit.agent.git.login_host import APP_ID, LoginHost, login_host

SHOP = "https://git.example/team/shop"
AZURE = "https://dev.azure.com/org/project/_git/shop"


class LoginHostTrust(MachineTrust):
    def __init__(self, authority: str) -> None:
        self._authority = authority

    def authority(self, _url: str) -> str:
        return self._authority


@pytest.fixture
async def host(tmp_path: Path) -> AsyncIterator[LoginHost]:
    async with login_host(tmp_path / "login-host") as opened:
        yield opened


def app_of(host: LoginHost, **more: str) -> dict[str, str]:
    return {
        "githubAppID": APP_ID,
        "githubAppPrivateKey": host.key(),
        "githubAppEnterpriseBaseUrl": f"{host.url}/api/v3/",
        **more,
    }


def secret_of(data: Mapping[str, str], url: str = SHOP, kind: str = "repository") -> Secret:
    return Secret(
        namespace="argocd", name="shop", labels={SECRET_TYPE: kind}, data={"url": url, **data}
    )


def credential_of(data: Mapping[str, str], url: str = SHOP) -> GitCredential:
    found = credential_for([secret_of(data)], RepositoryUrl.parse(url), "default")
    assert found is not None
    return found


async def signed_in(
    host: LoginHost, data: Mapping[str, str], url: str = SHOP
) -> GitCredential | None:
    logins = IssuedLogins(LoginHostTrust(host.authority))
    return await logins.signed_in(credential_of(data), RepositoryUrl.parse(url))


@dataclass(slots=True, kw_only=True)
class AppFixture:
    """A Git host that wants the token which the App's host has issued last."""

    host: LoginHost
    repository: HostedRepository
    mirrors: Mirrors

    def accept(self, token: str) -> None:
        self.repository.login = HostLogin(user="x-access-token", password=token)

    async def resolve(self) -> str:
        access = self.mirrors.access(self.repository.url)
        await self.mirrors.fetch(access)
        return await self.mirrors.resolve(access, "main")


@pytest.fixture
async def app(host: LoginHost, git_host: GitHost, tmp_path: Path) -> AsyncIterator[AppFixture]:
    repository = git_host.create(f"team/{uuid.uuid4().hex[:8]}")
    owner = RepositoryUrl.parse(repository.url).path.split("/")[1]
    host.owners.append(owner.upper())
    secrets = [secret_of(app_of(host), repository.url.rpartition("/")[0], "repo-creds")]
    settings = MirrorSettings(folder=tmp_path / "git")
    trust = LoginHostTrust(host.authority)
    async with Mirrors(settings, SecretCredentials(lambda: secrets), trust) as mirrors:
        yield AppFixture(host=host, repository=repository, mirrors=mirrors)


async def test_an_app_of_github_fetches_with_one_token_until_it_ends(app: AppFixture) -> None:
    sha = app.repository.commit({"a": b"1"})
    app.accept("issued-0")
    assert await app.resolve() == sha
    later = app.repository.commit({"a": b"2"})
    assert await app.resolve() == later
    assert app.host.issued == ["issued-0"]


@pytest.fixture
def old_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each login counts as one that was issued some time ago."""
    monkeypatch.setattr("agent.git.issued_logins.issued_logins._YOUNG", timedelta(0))


@pytest.mark.usefixtures("old_at_once")
async def test_a_token_that_the_host_refuses_is_replaced_by_the_next_fetch(app: AppFixture) -> None:
    sha = app.repository.commit({"a": b"1"})
    app.accept("issued-1")
    with pytest.raises(RepositoryError) as refused:
        await app.resolve()
    assert refused.value.reason is Reason.CREDENTIALS_REFUSED
    assert "issued-0" not in refused.value.message
    assert await app.resolve() == sha


async def test_one_repository_that_refuses_takes_no_new_login_from_the_others(
    host: LoginHost,
) -> None:
    logins, url = IssuedLogins(LoginHostTrust(host.authority)), RepositoryUrl.parse(SHOP)
    credential = credential_of(app_of(host))
    for _ in range(10):
        await logins.signed_in(credential, url)
        logins.refused(credential, url)
    assert host.issued == ["issued-0"]


async def test_a_host_that_refuses_is_not_asked_for_each_repository(host: LoginHost) -> None:
    host.refuses = True
    logins, url = IssuedLogins(LoginHostTrust(host.authority)), RepositoryUrl.parse(SHOP)
    for _ in range(10):
        with pytest.raises(LoginIssueError, match="HTTP 401"):
            await logins.signed_in(credential_of(app_of(host)), url)
    assert len(host.asked) == 1


async def test_owners_that_are_only_tried_leave_nothing_behind(
    host: LoginHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.git.issued_logins.issued_logins._PAUSE", timedelta(0))
    logins = IssuedLogins(LoginHostTrust(host.authority))
    for number in range(5):
        url = f"https://git.example/owner-{number}/shop"
        with pytest.raises(LoginIssueError, match="not installed"):
            await logins.signed_in(credential_of(app_of(host)), RepositoryUrl.parse(url))
    assert len(logins._locks) + len(logins._failures) <= 3


@pytest.mark.usefixtures("old_at_once")
async def test_a_token_near_its_end_is_not_used_again(host: LoginHost) -> None:
    logins, url = IssuedLogins(LoginHostTrust(host.authority)), RepositoryUrl.parse(SHOP)
    credential = credential_of(app_of(host))
    host.lasts = timedelta(hours=1)
    first = await logins.signed_in(credential, url)
    again = await logins.signed_in(credential, url)
    assert first == again
    logins.refused(credential, url)
    renewed = await logins.signed_in(credential, url)
    assert renewed is not None
    assert (renewed.username, renewed.password) == ("x-access-token", "issued-1")


async def test_the_installation_is_found_on_a_later_page(host: LoginHost) -> None:
    host.page = 1
    found = await signed_in(host, app_of(host))
    assert found is not None
    assert found.password == "issued-0"
    assert host.asked[-1] == "/api/v3/app/installations/71/access_tokens"


async def test_no_page_of_another_host_is_asked_for(host: LoginHost) -> None:
    """The token of the App goes with each page: another host could use it for ten minutes."""
    host.page, host.next_page = 1, "https://elsewhere.example/api/v3/app/installations"
    with pytest.raises(LoginIssueError, match="not installed at 'team'"):
        await signed_in(host, app_of(host))


async def test_a_given_installation_is_not_looked_for(host: LoginHost) -> None:
    await signed_in(host, app_of(host, githubAppInstallationID="9"))
    assert host.asked == ["/api/v3/app/installations/9/access_tokens"]


async def test_an_app_that_is_not_installed_names_the_owner(host: LoginHost) -> None:
    host.owners = ["stranger"]
    with pytest.raises(LoginIssueError) as found:
        await signed_in(host, app_of(host))
    assert "not installed at 'team', but at 1 others" in found.value.message
    assert "Install the App at team" in found.value.remedy


@pytest.mark.parametrize(("ahead", "side"), [(-3600, "ahead of"), (3600, "behind")])
async def test_a_clock_that_differs_is_named(host: LoginHost, ahead: int, side: str) -> None:
    host.clock = timedelta(seconds=ahead)
    with pytest.raises(LoginIssueError, match=f"this clock is [0-9]+ s {side} the host's") as found:
        await signed_in(host, app_of(host))
    assert "clock" in found.value.remedy


async def test_a_deleted_key_is_refused_with_what_to_check(host: LoginHost) -> None:
    host.refuses = True
    with pytest.raises(LoginIssueError, match="HTTP 401") as found:
        await signed_in(host, app_of(host))
    assert found.value.refused
    assert "the key was not deleted" in found.value.remedy


async def test_a_host_that_is_away_is_tried_again(host: LoginHost) -> None:
    there = app_of(host, githubAppEnterpriseBaseUrl="https://127.0.0.1:1/api/v3")
    with pytest.raises(LoginIssueError, match="cannot be asked") as found:
        await signed_in(host, there)
    assert not found.value.refused


async def test_an_unknown_authority_is_not_believed(host: LoginHost) -> None:
    logins = IssuedLogins(MachineTrust())
    with pytest.raises(LoginIssueError, match="cannot be asked"):
        await logins.signed_in(credential_of(app_of(host)), RepositoryUrl.parse(SHOP))
    assert host.asked == []


async def test_an_unverified_repository_leaves_the_host_of_the_login_verified(
    host: LoginHost,
) -> None:
    logins = IssuedLogins(MachineTrust())
    credential = credential_of(app_of(host, insecure="true"))
    with pytest.raises(LoginIssueError, match="cannot be asked"):
        await logins.signed_in(credential, RepositoryUrl.parse(SHOP))


async def test_an_encrypted_key_says_so_and_is_not_quoted(host: LoginHost) -> None:
    data = app_of(host, githubAppPrivateKey=host.key(b"passphrase"))
    with pytest.raises(LoginIssueError, match="is encrypted") as found:
        await signed_in(host, data)
    assert "BEGIN" not in str(found.value)


async def test_a_service_principal_of_azure_gets_a_bearer_token(host: LoginHost) -> None:
    data = {
        "azureServicePrincipalClientID": "client",
        "azureServicePrincipalClientSecret": "a-secret",
        "azureServicePrincipalTenantId": "contoso.example",
        "azureActiveDirectoryEndpoint": host.url,
    }
    found = await signed_in(host, data)
    assert found is not None
    assert found.authorization == "Bearer issued-0"
    assert host.asked == ["/contoso.example/oauth2/v2.0/token"]
    assert host.forms[0]["grant_type"] == "client_credentials"
    assert host.forms[0]["client_secret"] == "a-secret"


async def test_a_workload_identity_of_azure_shows_the_token_of_its_pod(
    host: LoginHost, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("the-pod\n")
    monkeypatch.setenv("AZURE_CLIENT_ID", "client")
    monkeypatch.setenv("AZURE_TENANT_ID", "tenant")
    monkeypatch.setenv("AZURE_FEDERATED_TOKEN_FILE", str(file))
    monkeypatch.setenv("AZURE_AUTHORITY_HOST", f"{host.url}/")
    found = await signed_in(host, {"useAzureWorkloadIdentity": "true"}, AZURE)
    assert found is not None
    assert found.bearer_token == "issued-0"
    assert host.forms[0]["client_assertion"] == "the-pod"


async def test_a_pod_without_an_identity_says_what_to_do(
    host: LoginHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_CLIENT_ID", raising=False)
    with pytest.raises(LoginIssueError, match="no AZURE_CLIENT_ID") as found:
        await signed_in(host, {"useAzureWorkloadIdentity": "true"}, AZURE)
    assert "Label the agent's pod" in found.value.remedy


@pytest.mark.parametrize("name", ["git.example", "dev.azure.com.example", "xvisualstudio.com"])
async def test_the_identity_of_the_pod_is_shown_to_azure_alone(host: LoginHost, name: str) -> None:
    with pytest.raises(LoginIssueError, match="is not shown to"):
        await signed_in(host, {"useAzureWorkloadIdentity": "true"}, f"https://{name}/team/shop")
    assert host.asked == []


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("http://dev.azure.com/org/project/_git/shop", {}),
        (AZURE, {"insecure": "true"}),
        (AZURE, {"proxy": "http://proxy.example:3128"}),
    ],
)
async def test_the_identity_of_the_pod_goes_to_a_verified_server_only(
    host: LoginHost, url: str, more: dict[str, str]
) -> None:
    with pytest.raises(LoginIssueError, match="is not shown"):
        await signed_in(host, {"useAzureWorkloadIdentity": "true", **more}, url)
    assert host.asked == []


async def test_a_service_account_of_google_gets_a_password(host: LoginHost) -> None:
    file = {
        "type": "service_account",
        "client_email": "agent@project.example",
        "private_key": host.key(),
        "private_key_id": "k1",
        "token_uri": f"{host.url}/token",
    }
    found = await signed_in(host, {"gcpServiceAccountKey": json.dumps(file)})
    assert found is not None
    assert (found.username, found.password) == ("agent@project.example", "issued-0")
    claims = host.claims(host.forms[0]["assertion"])
    assert claims["aud"] == f"{host.url}/token"


async def test_a_refused_principal_shows_the_code_of_the_host(host: LoginHost) -> None:
    host.refuses = True
    data = {
        "azureServicePrincipalClientId": "client",
        "azureServicePrincipalClientSecret": "a-secret",
        "azureServicePrincipalTenantId": "tenant",
        "azureActiveDirectoryEndpoint": host.url,
    }
    with pytest.raises(LoginIssueError, match=r"HTTP 401 \(invalid_client\)") as found:
        await signed_in(host, data)
    assert "a-secret" not in str(found.value) + found.value.remedy


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({"githubAppID": "1"}, "an App needs both"),
        ({"githubAppID": "1 2", "githubAppPrivateKey": "k"}, "neither a number nor a client id"),
        (
            {"githubAppID": "1", "githubAppPrivateKey": "k", "githubAppInstallationID": "../x"},
            "githubAppInstallationID is no number",
        ),
        (
            {
                "githubAppID": "1",
                "githubAppPrivateKey": "k",
                "githubAppEnterpriseBaseUrl": "http://h",
            },
            "is not like https://HOST/api/v3",
        ),
        ({"gcpServiceAccountKey": "{"}, "not the JSON of a key file"),
        ({"gcpServiceAccountKey": '{"type": "external_account"}'}, "expected service_account"),
        ({"azureServicePrincipalClientId": "c"}, "needs client id, client secret and tenant id"),
        (
            {
                "azureServicePrincipalClientId": "c",
                "azureServicePrincipalClientSecret": "s",
                "azureServicePrincipalTenantId": "../../x",
            },
            "neither an id nor a domain",
        ),
    ],
)
def test_what_cannot_be_used_is_a_problem_of_the_secret(data: dict[str, str], word: str) -> None:
    assert word in credential_of(data).problem


def test_a_password_goes_before_an_app() -> None:
    data = {"githubAppID": "1", "githubAppPrivateKey": "k", "password": "p"}
    assert credential_of(data).issuer is None


def test_no_key_is_shown() -> None:
    credential = credential_of({"githubAppID": "1", "githubAppPrivateKey": "a-key"})
    assert "a-key" not in repr(credential)
