"""Whose request is this? By token or by cookie; a cookie alone may only read."""

from __future__ import annotations

from datetime import datetime

import msgspec
from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.http.budget import holder_of
from bus.http.connections import vouch
from service.api.problem import DeniedError, ProblemError
from service.api.tools import Tools
from service.auth.caller import Caller
from service.auth.origin import REMEDY, SAFE, is_own
from service.auth.secrets import API_TOKEN, hash_of, same
from service.auth.sessions import caller_by_cookie, cookie_name, note_use
from service.auth.tokens import caller_by_token

CSRF_HEADER = "X-CSRF-Token"
_FOREIGN = "the Origin of the request is not the address of this service."


class Credential(msgspec.Struct, frozen=True, kw_only=True):
    """What a request shows, before it is looked up."""

    token: str = ""
    cookie: str = ""
    bucket: str
    """Whose bucket was asked for it: its principal's, or for an unknown one the address's."""

    @property
    def hash(self) -> str:
        return hash_of(self.token or self.cookie)


def admit(tools: Tools, request: web.Request) -> Credential:
    """Ask the bucket before the database is asked. Raises ProblemError 401 or 429."""
    token, cookie = _shown(tools, request)
    principal = tools.known.principal(hash_of(token or cookie))
    bucket = principal or address_bucket(request)
    limited(tools, bucket)
    if not token and not cookie:
        raise _unknown()
    return Credential(token=token, cookie=cookie, bucket=bucket)


async def authenticated(
    tools: Tools,
    connection: AsyncConnection,
    request: web.Request,
    credential: Credential,
    now: datetime,
) -> Caller:
    """Raises ProblemError 401 or 429."""
    who = await renewed(tools, connection, request, now)
    if who is None:
        tools.known.forget(credential.hash)
        raise _unknown()
    tools.known.note(credential.hash, who.id)
    if credential.bucket != who.id:
        tools.buckets.give_back(credential.bucket)
        limited(tools, who.id)
    if who.session:
        await note_use(connection, who, now)
    vouch(request)
    return who


async def renewed(
    tools: Tools, connection: AsyncConnection, request: web.Request, now: datetime
) -> Caller | None:
    """Who the request's token or cookie stands for now; None: for nobody (any more).

    No bucket is asked: a stream that renews its access is nobody who comes anew.
    """
    token, cookie = _shown(tools, request)
    if token:
        who = await caller_by_token(connection, token, now)
    else:
        who = await caller_by_cookie(connection, cookie, now) if cookie else None
    return msgspec.structs.replace(who, address=request.remote or "") if who else None


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


def limited(tools: Tools, actor: str) -> None:
    wait = tools.buckets.wait(actor)
    if wait > 0:
        seconds = int(wait) + 1
        raise ProblemError(
            429,
            f"more requests than {tools.buckets.rate:g} a second",
            rule="rate",
            remedy=f"Wait {seconds} s.",
            headers={"Retry-After": str(seconds)},
        )


def check_page(tools: Tools, request: web.Request, who: Caller) -> None:
    """A change by cookie comes from a page of ours: see service/auth/origin.py."""
    if not who.by_cookie or request.method in SAFE:
        return
    if not is_own(request.headers.get("Origin"), request.host, _public_url(tools)):
        raise DeniedError("request.origin", request.path, detail=f"{_FOREIGN} {REMEDY}")
    if not same(request.headers.get(CSRF_HEADER, ""), who.csrf):
        raise DeniedError(
            "request.csrf", request.path, detail=f"the header {CSRF_HEADER} is not the session's"
        )


def check_login_page(tools: Tools, request: web.Request) -> None:
    """A page of somebody else must not log a browser in; a command line sends no Origin."""
    origin = request.headers.get("Origin")
    if origin is not None and not is_own(origin, request.host, _public_url(tools)):
        raise ProblemError(403, _FOREIGN, rule="origin", remedy=REMEDY)


def _public_url(tools: Tools) -> str:
    return tools.parts.settings.public_url


def _shown(tools: Tools, request: web.Request) -> tuple[str, str]:
    """Token and cookie: one of them at most; a header, even one that is none of ours, comes first.

    What has not the form of a token is none, and not worth a look into the database.
    """
    header = request.headers.get("Authorization")
    if header is None:
        return "", request.cookies.get(cookie_name(secure=tools.parts.settings.is_https), "")
    scheme, _, token = header.partition(" ")
    token = token.strip()
    return (token if scheme.lower() == "bearer" and token.startswith(API_TOKEN) else ""), ""
