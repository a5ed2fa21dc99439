"""The gateway's routes: how agents enrol, open sessions, and connect.

    POST /api/v1/link/enrol | challenge | session      GET /api/v1/link (WebSocket)

Bodies are small and counted per address; refusals are problem+json. No browser comes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec
import structlog
from aiohttp import web

from bus.http.body import BodyError, BodyProblem, read_body
from bus.http.connection import vouch
from bus.link import PROOF_HEADER, Enrol, SessionRequest
from service.gateway.agent_socket import AgentSocket, new_socket
from service.gateway.effect_runner import EffectRunner
from service.gateway.enrolment import Enrolment
from service.gateway.link_state import SessionTerms, new_link
from service.gateway.refusals import LinkRequestRefusedError, RateLimiter, refusal
from service.gateway.sessions import AgentSessions, SessionChallengeRequest, SessionHolder
from service.store.link_signals import LinkRegistry

log = structlog.get_logger()

_BODY_LIMIT = 16 * 1024
_BEARER = "Bearer "
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    enrolment: Enrolment
    sessions: AgentSessions
    effect_runner: EffectRunner
    link_registry: LinkRegistry
    terms: SessionTerms
    rate_limiter: RateLimiter

    async def enrol(self, request: web.Request) -> web.Response:
        answer = partial(self.enrolment, address=request.remote or "")
        return await self._answer(request, Enrol, answer)

    async def challenge(self, request: web.Request) -> web.Response:
        return await self._answer(request, SessionChallengeRequest, self.sessions.challenge)

    async def session(self, request: web.Request) -> web.Response:
        return await self._answer(request, SessionRequest, self.sessions.open)

    async def connect(self, request: web.Request) -> web.StreamResponse:
        try:
            caller = await self._caller(request)
        except LinkRequestRefusedError as e:
            return refusal(request, e)
        vouch(request)
        socket = new_socket()
        await socket.prepare(request)
        now = self.effect_runner.clock().timestamp()
        held = AgentSocket(
            socket=socket, link=new_link(caller, self.terms, now), effect_runner=self.effect_runner
        )
        with self.link_registry.registered(caller.agent_id, held.receive):
            await held.run()
        return socket

    async def _caller(self, request: web.Request) -> SessionHolder:
        """Who opens the connection; raises LinkRefusedError.

        The bucket of the address comes before the database; who proves itself gets back what it
        took, so that many agents behind one address may all come at once.
        """
        address, now = request.remote or "", self.effect_runner.clock().timestamp()
        self.rate_limiter.admit(address, now)
        authorization = request.headers.get("Authorization", "")
        shown_proof = request.headers.get(PROOF_HEADER, "")
        caller = None
        if authorization.startswith(_BEARER):
            caller = await self.sessions.caller(authorization.removeprefix(_BEARER), shown_proof)
        if caller is None:
            detail = "The session token is missing, over, used, not proven, or of a revoked agent."
            remedy = "Open a session with POST /api/v1/link/session."
            raise LinkRequestRefusedError(401, "session", detail, remedy)
        self.rate_limiter.give_back(address)
        return caller

    async def _answer(self, request: web.Request, ask: type[T], answer: Any) -> web.Response:
        try:
            self.rate_limiter.admit(request.remote or "", self.effect_runner.clock().timestamp())
            answered = await answer(await _body(request, ask))
        except LinkRequestRefusedError as e:
            return refusal(request, e)
        return web.Response(body=msgspec.json.encode(answered), content_type="application/json")


async def _body(request: web.Request, kind: type[T]) -> T:
    remedy = "See docs: the link's enrolment and sessions."
    try:
        body = await read_body(request, _BODY_LIMIT)
    except BodyError as error:
        rule = "size" if error.problem is BodyProblem.TOO_LARGE else error.problem.value
        status, detail = error.problem.status, f"The body was not read: {error}."
        raise LinkRequestRefusedError(status, rule, detail, remedy) from None
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        raise LinkRequestRefusedError(400, "body", f"The body cannot be read: {e}", remedy) from e


def routes(gateway: Gateway) -> Sequence[web.RouteDef]:
    return (
        web.post("/api/v1/link/enrol", gateway.enrol),
        web.post("/api/v1/link/challenge", gateway.challenge),
        web.post("/api/v1/link/session", gateway.session),
        web.get("/api/v1/link", gateway.connect),
    )
