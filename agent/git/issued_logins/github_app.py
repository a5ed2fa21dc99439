"""A GitHub App as login: a token of the installation at the owner of the repository.

https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app. The
installation is looked up by the owner where the Secret names none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from agent.git.issued_logins.issuer import IssuedLogin, LoginIssueError
from agent.git.issued_logins.login_answers import decoded
from agent.git.issued_logins.login_calls import LoginAnswer, LoginCalls
from agent.git.issued_logins.signed_token import SigningKeyError, signed_token
from bus.repository_url import RepositoryUrl

_PUBLIC_API = "https://api.github.com"
_USER = "x-access-token"
_BEFORE, _LASTS = 60, 600
"""Seconds: an App's own token begins a minute ago, for clocks that differ, and lasts ten."""
_SKEW = 30.0
_PAGES = 20
_APP_ID = re.compile(r"[A-Za-z0-9.]{1,64}")
_NUMBER = re.compile(r"[0-9]{1,20}")
_CREATED, _FINE, _UNAUTHORIZED, _ABSENT = 201, 200, 401, 404


class _Account(msgspec.Struct, frozen=True):
    login: str = ""


class _Installation(msgspec.Struct, frozen=True):
    id: int
    account: _Account = _Account()


class _Token(msgspec.Struct, frozen=True):
    token: str
    expires_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubApp:
    app_id: str
    key: str = field(repr=False)
    installation: str = ""
    api: str = _PUBLIC_API

    for_registries = False

    def scope(self, url: RepositoryUrl) -> str:
        return "" if self.installation else owner_of(url)

    async def issue(self, url: RepositoryUrl, calls: LoginCalls, now: datetime) -> IssuedLogin:
        headers = {
            "Authorization": f"Bearer {self._token(now)}",
            "Accept": "application/vnd.github+json",
        }
        installation = self.installation or await self._installation(url, calls, headers)
        place = f"{self.api}/app/installations/{installation}/access_tokens"
        answer = await calls.post(place, headers)
        if answer.status != _CREATED:
            raise self._refused(answer, f"for installation {installation}")
        issued = decoded(answer, _Token)
        return IssuedLogin(username=_USER, password=issued.token, until=issued.expires_at)

    def _token(self, now: datetime) -> str:
        began = int(now.timestamp()) - _BEFORE
        claims: dict[str, str | int] = {"iat": began, "exp": began + _LASTS, "iss": self.app_id}
        try:
            return signed_token(claims, self.key)
        except SigningKeyError as error:
            remedy = "Store the key that GitHub offers for download at the App"
            raise LoginIssueError(f"githubAppPrivateKey {error}", remedy) from error

    async def _installation(
        self, url: RepositoryUrl, calls: LoginCalls, headers: Mapping[str, str]
    ) -> str:
        owner = owner_of(url)
        place, seen = f"{self.api}/app/installations?per_page=100", 0
        for _ in range(_PAGES):
            answer = await calls.get(place, headers)
            if answer.status != _FINE:
                raise self._refused(answer, "that lists its installations")
            page = decoded(answer, list[_Installation])
            seen += len(page)
            for one in page:
                if one.account.login.lower() == owner.lower():
                    return str(one.id)
            place = answer.following
            if not place.startswith(f"{self.api}/"):
                break
        message = f"GitHub App {self.app_id} is not installed at {owner!r}, but at {seen} others"
        raise LoginIssueError(message, f"Install the App at {owner}, with access to the repository")

    def _refused(self, answer: LoginAnswer, what: str) -> LoginIssueError:
        message = f"GitHub App {self.app_id} gets no token {what}: HTTP {answer.status}"
        if answer.status == _UNAUTHORIZED and abs(answer.clock_ahead) > _SKEW:
            side = "ahead of" if answer.clock_ahead > 0 else "behind"
            message += f", and this clock is {abs(answer.clock_ahead):.0f} s {side} the host's"
            return LoginIssueError(message, "Set the clock of the agent's node")
        if answer.status == _UNAUTHORIZED:
            remedy = "Check githubAppID, and that the key was not deleted at the App"
        elif answer.status == _ABSENT:
            remedy = "Check githubAppInstallationID, or remove it: it is found by the owner"
        else:
            remedy = "Check the App's state and permissions; it is tried again"
        refused = answer.status < 500 and answer.status != 429
        return LoginIssueError(message, remedy, refused=refused)


def github_app(data: Mapping[str, str]) -> tuple[GitHubApp | None, str]:
    """Read the App of a Secret's data, and why it cannot be used; neither where there is none."""
    app_id, key = data.get("githubAppID", "").strip(), data.get("githubAppPrivateKey", "")
    if not app_id and not key:
        return None, ""
    installation = data.get("githubAppInstallationID", "").strip()
    api = data.get("githubAppEnterpriseBaseUrl", "").strip().rstrip("/") or _PUBLIC_API
    if not (app_id and key):
        return None, "of githubAppID and githubAppPrivateKey it holds one; an App needs both"
    if not _APP_ID.fullmatch(app_id):
        return None, "its githubAppID is neither a number nor a client id"
    if installation and not _NUMBER.fullmatch(installation):
        return None, "its githubAppInstallationID is no number"
    if not api.startswith("https://") or "@" in api or "?" in api or "#" in api:
        return None, "its githubAppEnterpriseBaseUrl is not like https://HOST/api/v3"
    return GitHubApp(app_id=app_id, key=key, installation=installation, api=api), ""


def owner_of(url: RepositoryUrl) -> str:
    """Read the owner: the first part of the path."""
    return url.path.removeprefix("/").partition("/")[0]
