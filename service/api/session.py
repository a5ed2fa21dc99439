"""Logging in and out, and who one is: `/login`, `/logout`, `/me`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from aiohttp import web
from sqlalchemy import Row, select

from bus.ids import new_id
from service.access.permissions import Permission
from service.access.values import Scope
from service.api.call import Call
from service.api.endpoint import Answer, Endpoint, Given, Nothing, Open
from service.api.problem import ProblemError
from service.api.serve import HEADERS
from service.audit import book
from service.audit.record import Entry
from service.auth import attempts, sessions
from service.auth.caller import Caller, caller_of
from service.store.tables import accounts, principals

Short = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class Login(Given, frozen=True, kw_only=True):
    name: Short
    password: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    account: Annotated[str, msgspec.Meta(max_length=63)] = ""
    """Empty: the one the service was first started with."""


class Principal(Answer, frozen=True, kw_only=True):
    id: str
    name: str
    display_name: str
    kind: str


class LoggedIn(Answer, frozen=True, kw_only=True):
    principal: Principal
    csrf: str


class Account(Answer, frozen=True, kw_only=True):
    id: str
    name: str


class Where(Answer, frozen=True, kw_only=True):
    """`account` is always there; the others where the permission reaches no further."""

    account: str
    organisation: str | None = None
    project: str | None = None
    labels: dict[str, str] | None = None


class Held(Answer, frozen=True, kw_only=True):
    permission: Permission
    scope: Where


class Me(Answer, frozen=True, kw_only=True):
    principal: Principal
    csrf: str
    account: Account
    permissions: list[Held]


async def log_in(call: Call, given: Login) -> web.Response:
    """Begin a session: the cookie is HttpOnly, the CSRF word goes into the X-CSRF-Token header."""
    account = given.account or call.tools.parts.settings.account
    address = call.request.remote or ""
    keys = attempts.keys_of(account, given.name, address)
    await check_wait(call, keys)
    row = await _named(call, account, given.name)
    await call.release()  # a flood of logins waits for the hash, not with a connection in hand
    fits = await call.tools.passwords.fits(given.password, row.password_hash if row else "")
    async with call.tools.parts.engine.begin() as connection:
        who = await caller_of(connection, row.id) if row is not None and fits else None
        if who is not None:
            who = msgspec.structs.replace(who, address=address)
            await attempts.forgiven(connection, keys)
            browser = call.request.headers.get("User-Agent", "")
            made = await sessions.begin(connection, who, call.now, browser)
            await book.record(connection, _entry(call, who.account, who.name, "login.succeeded"))
            body = LoggedIn(principal=principal_of(who), csrf=made.csrf)
            return _with_cookie(call, body, made.cookie)
        await attempts.failed(connection, keys, call.now)
        if row is not None:
            entry = _entry(call, row.account, given.name, "login.failed", denied=True)
            await book.record(connection, entry)
    raise ProblemError(401, "name or password is wrong", rule="login")


async def log_out(call: Call, _given: Nothing) -> web.Response:
    """End this session."""
    name = _cookie_name(call)
    await sessions.end(call.connection, call.request.cookies.get(name, ""))
    response = web.Response(status=204, headers=HEADERS)
    response.del_cookie(name, path="/", secure=call.tools.parts.settings.is_https)
    return response


async def me(call: Call, _given: Nothing) -> Me:
    """Who is logged in, and what they may do where."""
    who = call.caller
    held = [
        Held(permission=permission, scope=_where(binding.scope, who.account))
        for binding in who.bindings
        for permission in sorted(binding.permissions)
    ]
    return Me(
        principal=principal_of(who),
        csrf=who.csrf,
        account=Account(id=who.account, name=who.account_name),
        permissions=held,
    )


def principal_of(who: Caller) -> Principal:
    return Principal(id=who.id, name=who.name, display_name=who.display_name, kind=who.kind)


async def check_wait(call: Call, keys: dict[str, int]) -> None:
    wait = await attempts.wait_of(call.connection, keys, call.now)
    if wait > 0:
        seconds = int(wait) + 1
        raise ProblemError(
            429,
            "too many failed logins",
            rule="brute-force",
            remedy=f"Wait {seconds} s.",
            headers={"Retry-After": str(seconds)},
        )


async def _named(call: Call, account: str, name: str) -> Row[str, str, str] | None:
    """The person of that name, if there is one who may log in."""
    query = (
        select(principals.c.id, principals.c.password_hash, accounts.c.id.label("account"))
        .join(accounts, accounts.c.id == principals.c.account_id)
        .where(
            accounts.c.name == account,
            principals.c.name == name,
            principals.c.kind == "user",
            principals.c.disabled.is_(False),
        )
    )
    return (await call.connection.execute(query)).one_or_none()


def _entry(call: Call, account: str, name: str, action: str, *, denied: bool = False) -> Entry:
    return Entry(
        account=account,
        id=new_id(),
        time=call.now,
        actor=name,
        address=(call.request.remote or "")[:64],
        action=action,
        resource=f"principal/{name}",
        decision="denied" if denied else "allowed",
        outcome="refused" if denied else "done",
    )


def _with_cookie(call: Call, body: LoggedIn, cookie: str) -> web.Response:
    response = web.Response(
        body=msgspec.json.encode(body), content_type="application/json", headers=HEADERS
    )
    response.set_cookie(
        _cookie_name(call),
        cookie,
        max_age=int(sessions.LIFETIME.total_seconds()),
        path="/",
        httponly=True,
        samesite="Strict",
        secure=call.tools.parts.settings.is_https,
    )
    return response


def _cookie_name(call: Call) -> str:
    return sessions.cookie_name(secure=call.tools.parts.settings.is_https)


def _where(scope: Scope, account: str) -> Where:
    return Where(
        account=account,
        organisation=scope.organisation or None,
        project=scope.project or None,
        labels=dict(scope.labels) if scope.labels is not None else None,
    )


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/login",
        needs=Open.EVERYONE,
        handler=log_in,
        takes=Login,
        gives=LoggedIn,
    ),
    Endpoint(method="POST", path="/logout", needs=Open.LOGGED_IN, handler=log_out),
    Endpoint(method="GET", path="/me", needs=Open.LOGGED_IN, handler=me, gives=Me),
)
