"""From a row of the API to what aiohttp calls: authenticate, decode, decide, act, answer.

Everything a handler does is one transaction. A denied attempt is rolled back and then written into
the audit by a transaction of its own.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
import structlog
from aiohttp import web
from asyncpg import DataError
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from bus.http.refusals import REFUSALS
from bus.ids import new_id
from service.access.decide import holds
from service.access.permissions import Permission
from service.api.call import Call
from service.api.decode import body_of, query_of, read
from service.api.endpoint import Endpoint, Open
from service.api.login_check import (
    Credential,
    address_bucket,
    admit,
    authenticated,
    check_login_page,
    check_page,
    limited,
)
from service.api.problem import DeniedError, ProblemError, answer
from service.api.tools import Tools
from service.audit import book
from service.audit.record import Entry
from service.auth.caller import Caller
from service.auth.turns import NoPlaceError

log = structlog.get_logger()

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
NOBODY = Caller(account="", account_name="", id="", name="", display_name="", kind="", bindings=())
_EXISTS = "23505"
"""A value that has to be unique is there already; PostgreSQL's code."""
_IN_EACH_OTHERS_WAY = ("40001", "40P01")
"""Serialisation failure and deadlock: PostgreSQL ended one of two transactions."""
_LOGGED = frozenset({400, 401, 403, 413, 415, 429})
"""What a mistake or an attack looks like; the rest is told to its caller only."""


def route(tools: Tools, endpoint: Endpoint) -> web.RouteDef:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            return await _answered(tools, endpoint, request)
        except ProblemError as e:
            _log(endpoint, request, e)
            return answer(e.problem, HEADERS | e.headers)

    return web.route(endpoint.method, endpoint.full_path, handle)


async def _answered(tools: Tools, endpoint: Endpoint, request: web.Request) -> web.StreamResponse:
    now = tools.parts.clock()
    callers: list[Caller] = []
    try:
        return await _in_transaction(tools, endpoint, request, now, callers)
    except DeniedError as e:
        if callers:
            await _record(tools, callers[0], e, now)
        raise
    except NoPlaceError as e:
        raise _busy() from e
    except IntegrityError as e:
        raise _conflict(getattr(e.orig, "sqlstate", "")) from e
    except (ConnectionRefusedError, PoolTimeoutError) as e:
        raise _away() from e
    except DBAPIError as e:
        if e.connection_invalidated:
            raise _away() from e
        if getattr(e.orig, "sqlstate", "") in _IN_EACH_OTHERS_WAY:
            raise ProblemError(
                503,
                "another request changed the same data at the same time; nothing was done",
                rule="busy",
                remedy="Try again.",
                headers={"Retry-After": "1"},
            ) from e
        if e.orig is not None and isinstance(e.orig.__cause__, DataError):
            raise ProblemError(422, "a value is out of range", rule="range") from e
        raise


def _log(endpoint: Endpoint, request: web.Request, refused: ProblemError) -> None:
    """Which route and which rule: nothing that was sent, which may hold a secret."""
    problem = refused.problem
    if problem.status in _LOGGED:
        request.app[REFUSALS](
            log.info,
            "request refused",
            address=request.remote,
            reason=f"{problem.status} {problem.rule}".strip(),
            about={
                "status": problem.status,
                "method": endpoint.method,
                "route": endpoint.path,
                "rule": problem.rule,
            },
        )


def _conflict(state: str) -> ProblemError:
    if state == _EXISTS:
        detail, remedy = "there is one of this name already", "Choose another name."
    else:
        detail = "something that it names is not there, or something else still needs it"
        remedy = "Look at the ids it refers to, and at what refers to it."
    return ProblemError(409, detail, rule="conflict", remedy=remedy)


def _busy() -> ProblemError:
    return ProblemError(
        503,
        "too many passwords are being checked",
        rule="busy",
        remedy="Try again in a moment.",
        headers={"Retry-After": "1"},
    )


def _away() -> ProblemError:
    return ProblemError(
        503,
        "the service's database does not answer",
        rule="database-away",
        remedy="Try again. The request may not have been carried out.",
        headers={"Retry-After": "2"},
    )


async def _in_transaction(
    tools: Tools,
    endpoint: Endpoint,
    request: web.Request,
    now: datetime,
    callers: list[Caller],
) -> web.StreamResponse:
    """The body is read before a connection is taken: slow senders hold none of the database's."""
    credential = _admitted(tools, endpoint, request)
    raw = await read(request) if endpoint.has_body else b""
    async with tools.parts.engine.connect() as connection:
        who = NOBODY
        if credential is not None:
            who = await authenticated(tools, connection, request, credential, now)
            callers.append(who)
            check_page(tools, request, who)
        call = Call(tools=tools, connection=connection, caller=who, request=request, now=now)
        _allowed(endpoint, who, request)
        given = _given(endpoint, request, raw)
        found = await endpoint.handler(call, given)
        if not connection.closed:
            await connection.commit()
    return found if isinstance(found, web.StreamResponse) else _json(endpoint, found)


def _admitted(tools: Tools, endpoint: Endpoint, request: web.Request) -> Credential | None:
    """Before the database is asked for anything; None where no login is needed."""
    if endpoint.needs is not Open.EVERYONE:
        return admit(tools, request)
    limited(tools, address_bucket(request))
    check_login_page(tools, request)
    return None


def _allowed(endpoint: Endpoint, who: Caller, request: web.Request) -> None:
    needs = endpoint.needs
    if isinstance(needs, Permission) and not holds(who.bindings, needs):
        raise DeniedError(needs, f"{request.method} {request.path}"[:700])


def _given(endpoint: Endpoint, request: web.Request, raw: bytes) -> Any:
    if endpoint.has_body:
        return body_of(request, raw, endpoint.reads or endpoint.takes)
    return query_of(request, endpoint.takes)


async def _record(tools: Tools, who: Caller, denied: DeniedError, now: datetime) -> None:
    entry = Entry(
        account=who.account,
        id=new_id(),
        time=now,
        actor=who.name,
        address=who.address[:64],
        action=denied.action,
        resource=denied.resource.replace("\0", "")[:700],
        decision="denied",
        outcome="refused",
    )
    denials, rule = tools.parts.denials, denied.problem.rule
    now_due = denials.note(entry, rule)
    if now_due is None:
        return
    try:
        async with tools.parts.engine.begin() as connection:
            await book.record(connection, now_due)
    except BaseException:
        denials.note(entry, rule)  # not recorded: so it is counted
        raise


def _json(endpoint: Endpoint, found: Any) -> web.Response:
    headers = dict(HEADERS)
    version = getattr(found, "edition", None) or getattr(found, "version", None)
    if version is not None and "{" in endpoint.path:
        headers["ETag"] = f'"{version}"'
    if found is None:
        return web.Response(status=204, headers=headers)
    return web.Response(
        status=endpoint.status,
        body=msgspec.json.encode(found),
        content_type="application/json",
        headers=headers,
    )
