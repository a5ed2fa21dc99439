"""IssuedLogins keeps the logins that hosts have issued, and renews each before it ends."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace
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
_CLOCK = SystemClock()

_LoginKey = tuple[LoginIssuer, str]


class IssuedLogins:
    def __init__(self, trust: ServerTrust) -> None:
        self._trust = trust
        self._logins: dict[_LoginKey, IssuedLogin] = {}
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
            login = self._logins.get(key)
            if login is None or login.until <= now:
                login = await self._issued(credential, issuer, url, now)
                self._forget_ended(now)
                self._logins[key] = login
        return replace(
            credential,
            username=login.username,
            password=login.password,
            bearer_token=login.bearer_token,
        )

    def refused(self, credential: GitCredential | None, url: RepositoryUrl) -> None:
        """Ask for another login next time: the repository's host does not accept this one."""
        if credential is not None and credential.issuer is not None:
            self._logins.pop((credential.issuer, credential.issuer.scope(url)), None)

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

    def _forget_ended(self, now: datetime) -> None:
        for key in [key for key, login in self._logins.items() if login.until <= now]:
            del self._logins[key]
            if not self._locks[key].locked():
                del self._locks[key]
