"""The login of a request, by API token or by session cookie, and the origin that sent it.

A browser adds the cookie to whatever any page sends. A cookie alone may therefore only read: a
change by cookie also shows the service's own Origin and the session's CSRF word. Requests with a
token need neither: no browser adds a token by itself. Rate limits are asked before the database.

The operator names the service's origin as `public_url`. Without it only an Origin of loopback that
equals the Host counts: another Host may be a name that somebody pointed here (DNS rebinding).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from ipaddress import ip_address

import msgspec
from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncConnection
from yarl import URL

from bus.http.budget import holder_of
from bus.http.connection import vouch
from service.access.decision import Caller
from service.auth.credentials import API_TOKEN, KnownCredentials, hash_of, same
from service.auth.rate_limits import RateLimits
from service.auth.sessions import caller_by_cookie, cookie_name, note_use
from service.auth.tokens import caller_by_token
from service.http.problem import DeniedError, ProblemError

SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
REMEDY = "Set GITOPS_SERVICE_PUBLIC_URL to the address that browsers open."
CSRF_HEADER = "X-CSRF-Token"
_FOREIGN = "the Origin of the request is not the address of this service."


class RequestOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """As browsers compare it: a default port is the same as none."""

    scheme: str
    host: str
    port: int


def is_own(origin: str | None, host: str, public_url: str) -> bool:
    """`host`: the request's Host header."""
    requested = _origin(origin or "")
    if requested is None:
        return False
    if public_url:
        return requested == _origin(public_url)
    return requested == _origin(f"http://{host}") and _is_loopback(requested.host)


def _origin(text: str) -> RequestOrigin | None:
    try:
        url = URL(text)
        host, port = url.raw_host, url.port
    except ValueError:
        return None
    if url.scheme not in ("http", "https") or not host or not port:
        return None
    return RequestOrigin(scheme=url.scheme, host=host.lower(), port=port)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


class LoginCredential(msgspec.Struct, frozen=True, kw_only=True):
    """What a request shows, before it is looked up."""

    token: str = ""
    cookie: str = ""
    bucket: str
    """Whose bucket was asked for it: its principal's, or for an unknown one the address's."""

    @property
    def hash(self) -> str:
        return hash_of(self.token or self.cookie)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginCheck:
    buckets: RateLimits
    known: KnownCredentials = field(default_factory=KnownCredentials)
    public_url: str
    """The address that browsers open; empty: whatever they ask for."""
    secure: bool
    """Browsers reach the service over HTTPS only."""

    def admit(self, request: web.Request) -> LoginCredential:
        """Ask the bucket before the database is asked. Raises ProblemError 401 or 429."""
        token, cookie = self._shown(request)
        principal = self.known.principal(hash_of(token or cookie))
        bucket = principal or address_bucket(request)
        self.limited(bucket)
        if not token and not cookie:
            raise _unknown()
        return LoginCredential(token=token, cookie=cookie, bucket=bucket)

    async def authenticated(
        self,
        connection: AsyncConnection,
        request: web.Request,
        credential: LoginCredential,
        now: datetime,
    ) -> Caller:
        """Read the caller that the credential stands for. Raises ProblemError 401 or 429."""
        who = await self.renewed(connection, request, now)
        if who is None:
            self.known.forget(credential.hash)
            raise _unknown()
        self.known.note(credential.hash, who.id)
        if credential.bucket != who.id:
            self.buckets.give_back(credential.bucket)
            self.limited(who.id)
        if who.session:
            await note_use(connection, who, now)
        vouch(request)
        return who

    async def renewed(
        self, connection: AsyncConnection, request: web.Request, now: datetime
    ) -> Caller | None:
        """Read the caller that the token or cookie stands for now; None: nobody, or no more.

        No bucket is asked: a stream that renews its access is nobody who comes anew.
        """
        token, cookie = self._shown(request)
        if token:
            who = await caller_by_token(connection, token, now)
        else:
            who = await caller_by_cookie(connection, cookie, now) if cookie else None
        return msgspec.structs.replace(who, address=request.remote or "") if who else None

    def limited(self, actor: str) -> None:
        """Count a request of the actor. Raises ProblemError 429."""
        wait = self.buckets.wait(actor)
        if wait > 0:
            seconds = int(wait) + 1
            raise ProblemError(
                429,
                f"more requests than {self.buckets.rate:g} a second",
                rule="rate",
                remedy=f"Wait {seconds} s.",
                headers={"Retry-After": str(seconds)},
            )

    def check_page(self, request: web.Request, who: Caller) -> None:
        """Refuse a change by cookie from a foreign page: see service/http/login_check.py."""
        if not who.by_cookie or request.method in SAFE:
            return
        if not is_own(request.headers.get("Origin"), request.host, self.public_url):
            raise DeniedError("request.origin", request.path, detail=f"{_FOREIGN} {REMEDY}")
        if not same(request.headers.get(CSRF_HEADER, ""), who.csrf):
            raise DeniedError(
                "request.csrf",
                request.path,
                detail=f"the header {CSRF_HEADER} is not the session's",
            )

    def check_websocket(self, request: web.Request, who: Caller) -> None:
        """Refuse a WebSocket of a foreign page: browsers open one anywhere, with the cookie."""
        origin = request.headers.get("Origin")
        if origin is None and not who.by_cookie:
            return
        if not is_own(origin, request.host, self.public_url):
            raise DeniedError("request.origin", request.path, detail=f"{_FOREIGN} {REMEDY}")

    def check_login_page(self, request: web.Request) -> None:
        """Refuse a login from a foreign page; a command line sends no Origin."""
        origin = request.headers.get("Origin")
        if origin is not None and not is_own(origin, request.host, self.public_url):
            raise ProblemError(403, _FOREIGN, rule="origin", remedy=REMEDY)

    def _shown(self, request: web.Request) -> tuple[str, str]:
        """Read token and cookie, one of them at most; a header, even a foreign one, comes first.

        What has not the form of a token is none, and not worth a look into the database.
        """
        header = request.headers.get("Authorization")
        if header is None:
            return "", request.cookies.get(cookie_name(secure=self.secure), "")
        scheme, _, token = header.partition(" ")
        token = token.strip()
        return (token if scheme.lower() == "bearer" and token.startswith(API_TOKEN) else ""), ""


LOGIN_CHECK = web.AppKey("login_check", LoginCheck)


def address_bucket(request: web.Request) -> str:
    return f"address:{holder_of(request.remote or '')}"


def _unknown() -> ProblemError:
    return ProblemError(
        401,
        "log in, or send a valid API token",
        rule="login",
        remedy="POST /api/v1/login, or the header Authorization: Bearer gt_...",
        headers={"WWW-Authenticate": "Bearer"},
    )
