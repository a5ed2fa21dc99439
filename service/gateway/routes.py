"""The gateway's routes: how agents enrol, open sessions, and connect.

    POST /api/v1/link/enrol | challenge | session      GET /api/v1/link (WebSocket)

Bodies are small and counted per address; refusals are problem+json. No browser comes here.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import msgspec
import structlog
from aiohttp import web

from bus.http.body import BodyError, BodyProblem, read_body
from bus.http.connections import vouch
from bus.link import PROOF_HEADER, Enrol, SessionRequest
from service.gateway.carry import Carrier
from service.gateway.enrolment import Enrolment
from service.gateway.limits import Doorman
from service.gateway.link import Terms, new_link
from service.gateway.problems import LinkRefusedError, refusal
from service.gateway.sessions import Caller, ChallengeRequest, Sessions
from service.gateway.socket import AgentSocket, new_socket
from service.gateway.streams import Streams
from service.gateway.sweep import sweeping
from service.gateway.switchboard import Switchboard
from service.parts import Parts
from service.projection.writer import Writer
from service.rooms_follow import FOLLOWERS

log = structlog.get_logger()

_BODY_LIMIT = 16 * 1024
_BEARER = "Bearer "
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    enrolment: Enrolment
    sessions: Sessions
    carrier: Carrier
    switchboard: Switchboard
    terms: Terms
    doorman: Doorman

    async def enrol(self, request: web.Request) -> web.Response:
        answer = partial(self.enrolment, address=request.remote or "")
        return await self._answer(request, Enrol, answer)

    async def challenge(self, request: web.Request) -> web.Response:
        return await self._answer(request, ChallengeRequest, self.sessions.challenge)

    async def session(self, request: web.Request) -> web.Response:
        return await self._answer(request, SessionRequest, self.sessions.open)

    async def connect(self, request: web.Request) -> web.StreamResponse:
        try:
            caller = await self._caller(request)
        except LinkRefusedError as e:
            return refusal(request, e)
        vouch(request)
        socket = new_socket()
        await socket.prepare(request)
        now = self.carrier.clock().timestamp()
        held = AgentSocket(
            socket=socket, link=new_link(caller, self.terms, now), carrier=self.carrier
        )
        with self.switchboard.plugged(caller.agent_id, held.hear):
            await held.run()
        return socket

    async def _caller(self, request: web.Request) -> Caller:
        """Who opens the connection; raises LinkRefusedError.

        The bucket of the address comes before the database; who proves itself gets back what it
        took, so that many agents behind one address may all come at once.
        """
        address, now = request.remote or "", self.carrier.clock().timestamp()
        self.doorman.admit(address, now)
        said = request.headers.get("Authorization", "")
        given = request.headers.get(PROOF_HEADER, "")
        caller = None
        if said.startswith(_BEARER):
            caller = await self.sessions.caller(said.removeprefix(_BEARER), given)
        if caller is None:
            detail = "The session token is missing, over, used, not proven, or of a revoked agent."
            remedy = "Open a session with POST /api/v1/link/session."
            raise LinkRefusedError(401, "session", detail, remedy)
        self.doorman.give_back(address)
        return caller

    async def _answer(self, request: web.Request, ask: type[T], answer: Any) -> web.Response:
        try:
            self.doorman.admit(request.remote or "", self.carrier.clock().timestamp())
            told = await answer(await _body(request, ask))
        except LinkRefusedError as e:
            return refusal(request, e)
        return web.Response(body=msgspec.json.encode(told), content_type="application/json")


async def _body(request: web.Request, kind: type[T]) -> T:
    remedy = "See docs: the link's enrolment and sessions."
    try:
        body = await read_body(request, _BODY_LIMIT)
    except BodyError as error:
        rule = "size" if error.problem is BodyProblem.TOO_LARGE else error.problem.value
        status, detail = error.problem.status, f"The body was not read: {error}."
        raise LinkRefusedError(status, rule, detail, remedy) from None
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as e:
        raise LinkRefusedError(400, "body", f"The body cannot be read: {e}", remedy) from e


def routes(parts: Parts) -> Sequence[web.RouteDef]:
    gateway = gateway_of(parts)
    return (
        web.post("/api/v1/link/enrol", gateway.enrol),
        web.post("/api/v1/link/challenge", gateway.challenge),
        web.post("/api/v1/link/session", gateway.session),
        web.get("/api/v1/link", gateway.connect),
    )


def workers(parts: Parts) -> Iterator[tuple[str, Coroutine[Any, Any, None]]]:
    yield "sweep of tasks and epochs", sweeping(parts.engine, parts.clock)


def gateway_of(parts: Parts) -> Gateway:
    """The gateway of the service that has these parts."""
    settings, engine, clock = parts.settings, parts.engine, parts.clock
    return Gateway(
        enrolment=Enrolment(engine=engine, keys=parts.keys, clock=clock),
        sessions=Sessions(
            engine=engine,
            keys=parts.keys,
            clock=clock,
            denials=parts.denials,
            lifetime=settings.session_seconds,
            account=settings.account,
        ),
        carrier=Carrier(
            engine=engine,
            writer=Writer(engine=engine, clock=clock, followers=FOLLOWERS, metrics=parts.metrics),
            streams=Streams(engine=engine, signals=parts.signals),
            keys=parts.keys,
            clock=clock,
            replica=parts.replica,
        ),
        switchboard=parts.switchboard,
        terms=Terms(
            beat_seconds=settings.beat_seconds,
            roots_seconds=settings.roots_seconds,
            items_per_second=settings.items_per_second,
        ),
        doorman=Doorman(),
    )
