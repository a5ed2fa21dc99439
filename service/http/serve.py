"""Serving of an endpoint: authenticate, decode, decide, act, answer.

Everything that a handler does is one transaction. A denied attempt is rolled back and then written
into the audit by a transaction of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec
import structlog
from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.http.refusals import REFUSALS
from bus.identity import new_id
from service.access.decision import Caller, holds
from service.access.permissions import Permission
from service.audit import audit_book
from service.audit.audit_record import AuditEntry
from service.audit.denials import DenialRecorder
from service.http.call import ApiCall, Clock
from service.http.decode import body_of, query_of, read
from service.http.endpoint import Endpoint, OpenAccess
from service.http.error_problems import problems_of_errors
from service.http.login_check import LoginCheck, LoginCredential, address_bucket
from service.http.problem import HEADERS, DeniedError, ProblemError, answer

log = structlog.get_logger()

NOBODY = Caller(account="", account_name="", id="", name="", display_name="", kind="", bindings=())
_LOGGED = frozenset({400, 401, 403, 413, 415, 429})
"""What a mistake or an attack looks like; the rest is told to its caller only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointServer:
    """Serves endpoints: each request in a transaction of its own."""

    engine: AsyncEngine
    clock: Clock
    denials: DenialRecorder
    login_check: LoginCheck

    def route(self, endpoint: Endpoint) -> web.RouteDef:
        async def handle(request: web.Request) -> web.StreamResponse:
            try:
                return await self._answered(endpoint, request)
            except ProblemError as e:
                _log(endpoint, request, e)
                return answer(e.problem, HEADERS | e.headers)

        return web.route(endpoint.method, endpoint.full_path, handle)

    async def _answered(self, endpoint: Endpoint, request: web.Request) -> web.StreamResponse:
        now = self.clock()
        callers: list[Caller] = []
        try:
            with problems_of_errors():
                return await self._in_transaction(endpoint, request, now, callers)
        except DeniedError as e:
            if callers:
                await self._record(callers[0], e, now)
            raise

    async def _in_transaction(
        self, endpoint: Endpoint, request: web.Request, now: datetime, callers: list[Caller]
    ) -> web.StreamResponse:
        """Read the body before a connection is taken: slow senders hold none of the database's."""
        credential = self._admitted(endpoint, request)
        raw = await read(request) if endpoint.has_body else b""
        async with self.engine.connect() as connection:
            who = NOBODY
            if credential is not None:
                who = await self.login_check.authenticated(connection, request, credential, now)
                callers.append(who)
                self.login_check.check_page(request, who)
            call = ApiCall(connection=connection, caller=who, request=request, now=now)
            _check_allowed(endpoint, who, request)
            found = await endpoint.handler(call, _input(endpoint, request, raw))
            if not connection.closed:
                await connection.commit()
        return found if isinstance(found, web.StreamResponse) else _json(endpoint, found)

    def _admitted(self, endpoint: Endpoint, request: web.Request) -> LoginCredential | None:
        """Ask the rate limits before the database is; None where no login is needed."""
        if endpoint.needs is not OpenAccess.EVERYONE:
            return self.login_check.admit(request)
        self.login_check.limited(address_bucket(request))
        self.login_check.check_login_page(request)
        return None

    async def _record(self, who: Caller, denied: DeniedError, now: datetime) -> None:
        entry = AuditEntry(
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
        rule = denied.problem.rule
        now_due = self.denials.note(entry, rule)
        if now_due is None:
            return
        try:
            async with self.engine.begin() as connection:
                await audit_book.record(connection, now_due)
        except BaseException:
            self.denials.note(entry, rule)  # not recorded: so it is counted
            raise


def _check_allowed(endpoint: Endpoint, who: Caller, request: web.Request) -> None:
    needs = endpoint.needs
    if isinstance(needs, Permission) and not holds(who.bindings, needs):
        raise DeniedError(needs, f"{request.method} {request.path}"[:700])


def _input(endpoint: Endpoint, request: web.Request, raw: bytes) -> Any:
    if endpoint.has_body:
        return body_of(request, raw, endpoint.reads or endpoint.takes)
    return query_of(request, endpoint.takes)


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
