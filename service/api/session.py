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
from service.api.password_check import password_fits, reserve_attempt
from service.api.problem import ProblemError
from service.api.serve import HEADERS
from service.audit import book
from service.audit.record import Entry
from service.auth import attempts, devices, sessions
from service.auth.caller import Caller, caller_of
from service.auth.secrets import hash_of
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
    row = await _named(call, account, given.name)
    known = row is not None and await devices.is_known(
        call.connection, _device(call), row.id, call.now
    )
    locks = (
        attempts.locks_of_device(hash_of(_device(call)))
        if known
        else attempts.locks_of(account, given.name, address)
    )
    await reserve_attempt(call, locks)
    await call.release()  # a flood of logins waits for the hash, not with a connection in hand
    fits = await password_fits(call, given.password, row.password_hash if row else "", locks)
    async with call.tools.parts.engine.begin() as connection:
        who = await caller_of(connection, row.id) if row is not None and fits else None
        if who is not None:
            who = msgspec.structs.replace(who, address=address)
            await attempts.forgive(connection, locks, call.now)
            browser = call.request.headers.get("User-Agent", "")
            made = await sessions.begin(connection, who, call.now, browser)
            device = "" if known else await devices.remember(connection, who, call.now)
            await book.record(connection, _entry(call, who.account, who.name, "login.succeeded"))
            body = LoggedIn(principal=principal_of(who), csrf=made.csrf)
            call.tools.known.note(hash_of(made.cookie), who.id)
            return _with_cookies(call, body, made.cookie, device)
        if row is not None:
            entry = _entry(call, row.account, given.name, "login.failed", denied=True)
            await book.record(connection, entry)
    raise ProblemError(401, "name or password is wrong", title="Login failed", rule="login")


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


def _device(call: Call) -> str:
    return call.request.cookies.get(devices.COOKIE, "")


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


def _with_cookies(call: Call, body: LoggedIn, cookie: str, device: str) -> web.Response:
    """`device`: empty where the browser has its cookie already."""
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
    if device:
        response.set_cookie(
            devices.COOKIE,
            device,
            max_age=int(devices.LIFETIME.total_seconds()),
            path=devices.PATH,
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
