"""Login and logout, and the caller with its permissions: `/login`, `/logout`, `/me`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from aiohttp import web
from sqlalchemy import Row, select

from bus.identity import new_id
from service.access.decision import BindingScope, Caller
from service.access.permissions import Permission
from service.api.access.password_check import password_fits, reserve_attempt
from service.audit import audit_book
from service.audit.audit_record import AuditEntry
from service.auth import login_attempts, sessions
from service.auth.caller import caller_of
from service.auth.credentials import hash_of
from service.auth.login_attempts import remember_device
from service.http.call import ENGINE, ApiCall
from service.http.endpoint import Endpoint, NoInput, OpenAccess, RequestModel, ResponseModel
from service.http.login_check import LOGIN_CHECK
from service.http.problem import HEADERS, ProblemError
from service.store.tables import accounts, principals

DEFAULT_ACCOUNT = web.AppKey("default_account", str)
"""The account of a login that names none: the one the service was first started with."""
Short = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class LoginRequest(RequestModel, frozen=True, kw_only=True):
    name: Short
    password: Annotated[str, msgspec.Meta(min_length=1, max_length=1000)]
    account: Annotated[str, msgspec.Meta(max_length=63)] = ""
    """Empty: the one the service was first started with."""


class Principal(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str
    display_name: str
    kind: str


class LoginResult(ResponseModel, frozen=True, kw_only=True):
    principal: Principal
    csrf: str


class AccountSummary(ResponseModel, frozen=True, kw_only=True):
    id: str
    name: str


class PermissionScope(ResponseModel, frozen=True, kw_only=True):
    """`account` is always there; the others where the permission reaches no further."""

    account: str
    organisation: str | None = None
    project: str | None = None
    labels: dict[str, str] | None = None


class GrantedPermission(ResponseModel, frozen=True, kw_only=True):
    permission: Permission
    scope: PermissionScope


class CurrentPrincipal(ResponseModel, frozen=True, kw_only=True):
    principal: Principal
    csrf: str
    account: AccountSummary
    permissions: list[GrantedPermission]


async def log_in(call: ApiCall, params: LoginRequest) -> web.Response:
    """Begin a session with a name and a password.

    The session cookie is HttpOnly; the CSRF word of the answer goes into the header X-CSRF-Token.
    """
    account = params.account or call.use(DEFAULT_ACCOUNT)
    address = call.request.remote or ""
    row = await _named(call, account, params.name)
    known = row is not None and await login_attempts.is_known_device(
        call.connection, _device(call), row.id, call.now
    )
    locks = (
        login_attempts.locks_of_device(hash_of(_device(call)))
        if known
        else login_attempts.locks_of(account, params.name, address)
    )
    await reserve_attempt(call, locks)
    await call.release()  # a flood of logins waits for the hash, not with a connection in hand
    fits = await password_fits(call, params.password, row.password_hash if row else "", locks)
    async with call.use(ENGINE).begin() as connection:
        who = await caller_of(connection, row.id) if row is not None and fits else None
        if who is not None:
            who = msgspec.structs.replace(who, address=address)
            await login_attempts.forgive(connection, locks, call.now)
            browser = call.request.headers.get("User-Agent", "")
            made = await sessions.begin(connection, who, call.now, browser)
            device = "" if known else await remember_device(connection, who, call.now)
            await audit_book.record(
                connection, _entry(call, who.account, who.name, "login.succeeded")
            )
            body = LoginResult(principal=principal_of(who), csrf=made.csrf)
            call.use(LOGIN_CHECK).known.note(hash_of(made.cookie), who.id)
            return _with_cookies(call, body, made.cookie, device)
        if row is not None:
            entry = _entry(call, row.account, params.name, "login.failed", denied=True)
            await audit_book.record(connection, entry)
    raise ProblemError(401, "name or password is wrong", title="Login failed", rule="login")


async def log_out(call: ApiCall, _params: NoInput) -> web.Response:
    """End the session of this request."""
    name = _cookie_name(call)
    await sessions.end(call.connection, call.request.cookies.get(name, ""))
    response = web.Response(status=204, headers=HEADERS)
    response.del_cookie(name, path="/", secure=call.use(LOGIN_CHECK).secure)
    return response


async def me(call: ApiCall, _params: NoInput) -> CurrentPrincipal:
    """Get the caller's own principal, account and permissions."""
    who = call.caller
    held = [
        GrantedPermission(permission=permission, scope=_where(binding.scope, who.account))
        for binding in who.bindings
        for permission in sorted(binding.permissions)
    ]
    return CurrentPrincipal(
        principal=principal_of(who),
        csrf=who.csrf,
        account=AccountSummary(id=who.account, name=who.account_name),
        permissions=held,
    )


def principal_of(who: Caller) -> Principal:
    return Principal(id=who.id, name=who.name, display_name=who.display_name, kind=who.kind)


def _device(call: ApiCall) -> str:
    return call.request.cookies.get(login_attempts.DEVICE_COOKIE, "")


async def _named(call: ApiCall, account: str, name: str) -> Row[str, str, str] | None:
    """Read the person of that name, if there is one who may log in."""
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


def _entry(
    call: ApiCall, account: str, name: str, action: str, *, denied: bool = False
) -> AuditEntry:
    return AuditEntry(
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


def _with_cookies(call: ApiCall, body: LoginResult, cookie: str, device: str) -> web.Response:
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
        secure=call.use(LOGIN_CHECK).secure,
    )
    if device:
        response.set_cookie(
            login_attempts.DEVICE_COOKIE,
            device,
            max_age=int(login_attempts.DEVICE_LIFETIME.total_seconds()),
            path=login_attempts.DEVICE_PATH,
            httponly=True,
            samesite="Strict",
            secure=call.use(LOGIN_CHECK).secure,
        )
    return response


def _cookie_name(call: ApiCall) -> str:
    return sessions.cookie_name(secure=call.use(LOGIN_CHECK).secure)


def _where(scope: BindingScope, account: str) -> PermissionScope:
    return PermissionScope(
        account=account,
        organisation=scope.organisation or None,
        project=scope.project or None,
        labels=dict(scope.labels) if scope.labels is not None else None,
    )


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/login",
        needs=OpenAccess.EVERYONE,
        handler=log_in,
        takes=LoginRequest,
        gives=LoginResult,
    ),
    Endpoint(method="POST", path="/logout", needs=OpenAccess.LOGGED_IN, handler=log_out),
    Endpoint(
        method="GET", path="/me", needs=OpenAccess.LOGGED_IN, handler=me, gives=CurrentPrincipal
    ),
)
