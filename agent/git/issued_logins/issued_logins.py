"""IssuedLogins keeps the logins that hosts have issued, and renews each before it ends."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.clock import SystemClock
from agent.git.credentials import GitCredential
from agent.git.issued_logins.issuer import IssuedLogin, LoginIssueError, LoginIssuer
from agent.git.issued_logins.login_calls import LoginCallError, LoginCalls, ServerAccess
from agent.git.server_trust import ServerTrust
from bus.repository_url import RepositoryUrl

_EARLY = timedelta(minutes=2)
"""How long before its end a login is renewed: longer than a fetch may take."""
_LEAST = timedelta(seconds=30)
_YOUNG = timedelta(minutes=1)
"""A login that was issued just now is not replaced because one repository refuses it."""
_PAUSE = timedelta(seconds=30)
"""How long after a failure the host is not asked again for the same login."""
_CLOCK = SystemClock()

_LoginKey = tuple[LoginIssuer, str]


@dataclass(frozen=True, slots=True)
class _KeptLogin:
    login: IssuedLogin
    since: datetime


class IssuedLogins:
    def __init__(self, trust: ServerTrust) -> None:
        self._trust = trust
        self._logins: dict[_LoginKey, _KeptLogin] = {}
        self._failures: dict[_LoginKey, tuple[LoginIssueError, datetime]] = {}
        """With the time until which each holds."""
        self._locks: defaultdict[_LoginKey, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def signed_in(
        self, credential: GitCredential | None, url: RepositoryUrl
    ) -> GitCredential | None:
        """Put the login of now into a credential that has an issuer; raises LoginIssueError."""
        if credential is None or credential.issuer is None or credential.problem:
            return credential
        issuer = credential.issuer
        key = (issuer, issuer.scope(url))
        async with self._locks[key]:
            now = _CLOCK.now()
            self._forget_ended(now, key)
            kept = self._logins.get(key)
            if kept is None:
                kept = _KeptLogin(await self._asked(credential, issuer, url, now), now)
                self._logins[key] = kept
        login = kept.login
        return replace(
            credential,
            username=login.username,
            password=login.password,
            bearer_token=login.bearer_token,
        )

    def refused(self, credential: GitCredential | None, url: RepositoryUrl) -> None:
        """Ask for another login next time: the repository's host does not accept this one."""
        if credential is None or credential.issuer is None:
            return
        key = (credential.issuer, credential.issuer.scope(url))
        kept = self._logins.get(key)
        if kept is not None and kept.since + _YOUNG <= _CLOCK.now():
            del self._logins[key]

    async def _asked(
        self, credential: GitCredential, issuer: LoginIssuer, url: RepositoryUrl, now: datetime
    ) -> IssuedLogin:
        """Ask the host, unless it has failed a short time ago; raises LoginIssueError."""
        key = (issuer, issuer.scope(url))
        if key in self._failures:
            error = self._failures[key][0]
            raise LoginIssueError(error.message, error.remedy, refused=error.refused)
        try:
            return await self._issued(credential, issuer, url, now)
        except LoginIssueError as error:
            self._failures[key] = error, _CLOCK.now() + _PAUSE
            raise

    async def _issued(
        self, credential: GitCredential, issuer: LoginIssuer, url: RepositoryUrl, now: datetime
    ) -> IssuedLogin:
        access = ServerAccess(
            origin=url.origin,
            insecure=credential.insecure,
            proxy=credential.proxy,
            no_proxy=credential.no_proxy,
            certificate=credential.certificate,
            key=credential.key,
        )
        try:
            login = await issuer.issue(url, LoginCalls(access=access, trust=self._trust), now)
        except LoginCallError as error:
            remedy = "Check that it is up and can be reached from here; it is tried again"
            raise LoginIssueError(str(error), remedy, refused=False) from error
        if not (login.password or login.bearer_token):
            message = "an empty token was issued"
            raise LoginIssueError(message, "Ask who runs the host of the login")
        return replace(login, until=max(now + _LEAST, login.until - _EARLY))

    def _forget_ended(self, now: datetime, asked: _LoginKey) -> None:
        """Forget what has ended, and the locks of what is not kept; `asked` is under way."""
        self._logins = {key: it for key, it in self._logins.items() if it.login.until > now}
        self._failures = {key: it for key, it in self._failures.items() if it[1] > now}
        for key, lock in tuple(self._locks.items()):
            is_kept = key in self._logins or key in self._failures or key == asked
            if not is_kept and not lock.locked():
                del self._locks[key]
