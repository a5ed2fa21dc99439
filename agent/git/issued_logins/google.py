"""A service account of Google Cloud as login: for its Git repositories, and Artifact Registry.

https://developers.google.com/identity/protocols/oauth2/service-account,
https://cloud.google.com/artifact-registry/docs/docker/authentication#token.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import msgspec

from agent.git.issued_logins.issuer import IssuedLogin, LoginIssueError
from agent.git.issued_logins.login_answers import oauth_token
from agent.git.issued_logins.login_calls import LoginCalls
from agent.git.issued_logins.signed_token import SigningKeyError, signed_token
from bus.repository_url import RepositoryUrl

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
_SECONDS = 3600
_REGISTRY_USER = "oauth2accesstoken"
_SERVICE_ACCOUNT = "service_account"


class _KeyFile(msgspec.Struct, frozen=True):
    type: str = ""
    client_email: str = ""
    private_key: str = ""
    private_key_id: str = ""
    token_uri: str = "https://oauth2.googleapis.com/token"  # noqa: S105  an address


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccount:
    email: str
    key: str = field(repr=False)
    key_id: str
    endpoint: str
    for_registries = True

    def scope(self, url: RepositoryUrl) -> str:
        """Name the user: a registry has one for tokens of any account."""
        return self._user(url)

    def _user(self, url: RepositoryUrl) -> str:
        return _REGISTRY_USER if url.origin.scheme == "oci" else self.email

    async def issue(self, url: RepositoryUrl, calls: LoginCalls, now: datetime) -> IssuedLogin:
        began = int(now.timestamp())
        claims: dict[str, str | int] = {
            "iss": self.email,
            "scope": _SCOPE,
            "aud": self.endpoint,
            "iat": began,
            "exp": began + _SECONDS,
        }
        try:
            assertion = signed_token(claims, self.key, self.key_id)
        except SigningKeyError as error:
            remedy = "Store the key file as Google offers it for download"
            raise LoginIssueError(f"private_key of gcpServiceAccountKey {error}", remedy) from error
        form = {"grant_type": _GRANT, "assertion": assertion}
        answer = await calls.post(self.endpoint, {}, form)
        remedy = "Check that the key was not deleted, and the clock of the agent's node"
        token = oauth_token(answer, f"the service account {self.email}", remedy)
        until = now + timedelta(seconds=token.expires_in)
        return IssuedLogin(username=self._user(url), password=token.access_token, until=until)


def service_account(data: Mapping[str, str]) -> tuple[ServiceAccount | None, str]:
    """Read the key file of a Secret's data, and why it cannot be used."""
    written = data.get("gcpServiceAccountKey", "")
    if not written:
        return None, ""
    try:
        read = msgspec.json.decode(written, type=_KeyFile)
    except msgspec.DecodeError:
        return None, "its gcpServiceAccountKey is not the JSON of a key file"
    if read.type != _SERVICE_ACCOUNT:
        kind = read.type[:40]
        return None, f"its gcpServiceAccountKey has the type {kind!r}; expected {_SERVICE_ACCOUNT}"
    if not (read.client_email and read.private_key):
        return None, "its gcpServiceAccountKey holds no client_email or no private_key"
    if not read.token_uri.startswith("https://"):
        return None, "the token_uri of its gcpServiceAccountKey is not one of https"
    account = ServiceAccount(
        email=read.client_email,
        key=read.private_key,
        key_id=read.private_key_id,
        endpoint=read.token_uri,
    )
    return account, ""
