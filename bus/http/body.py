"""Bodies of requests: read under a shared budget, within a deadline, let go of when cut off.

A full budget turns away only who would hold most: for anybody else the address that holds most
gives up its largest body. So strangers who fill the budget from many addresses share it evenly, and
a body that is smaller than their share finds room from any other address, however many they are.

aiohttp keeps the error of a cut connection in the request's payload; raised, it holds the frames it
came through, so payload, error, frame and body are a cycle that only the collector's oldest
generation frees. It is caught here and its traceback dropped, so that the body goes at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from aiohttp import web

from bus.http.budget import Budget, HttpLimits, holder_of

_CHUNK = 1 << 16


class BodyProblem(StrEnum):
    TOO_LARGE = "too_large"
    LATE = "late"
    OVERLOADED = "no_room"
    CUT = "cut"

    @property
    def status(self) -> int:
        """The HTTP status of the answer; nobody reads that of a cut connection."""
        return _STATUS[self]


_STATUS = {
    BodyProblem.TOO_LARGE: 413,
    BodyProblem.LATE: 408,
    BodyProblem.OVERLOADED: 503,
    BodyProblem.CUT: 400,
}


class BodyError(Exception):
    """The body could not be read; the message is for its sender."""

    def __init__(self, problem: BodyProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


def prepare_bodies(app: web.Application, limits: HttpLimits) -> None:
    """Give the application its budget for bodies."""
    app[LIMITS] = limits
    budget = Budget(total=limits.bodies, share=limits.bodies_of_address)
    app[BODIES] = IncomingBodies(budget=budget)


async def read_body(
    request: web.Request, limit: int, feed: Callable[[bytes], object] = len
) -> bytes:
    """Read the whole body, of `limit` bytes at most; `feed` is given each piece as it comes.

    Raises BodyError. The budget is given back at the end, so use the bytes at once.
    """
    if (request.content_length or 0) > limit:
        raise _error(BodyProblem.TOO_LARGE, limit)
    bodies = request.app[BODIES]
    body = IncomingBody(
        holder=holder_of(request.remote or ""),
        deadline=asyncio.timeout(request.app[LIMITS].body_seconds),
    )
    bodies.begin(body)
    try:
        problem = await _fill(body, request, limit, feed)
    finally:
        bodies.end(body)
    if problem is not None:
        raise _error(problem, limit)
    return bytes(body.data)


async def _fill(
    body: IncomingBody, request: web.Request, limit: int, feed: Callable[[bytes], object]
) -> BodyProblem | None:
    bodies = request.app[BODIES]
    try:
        async with body.deadline:
            async for chunk in request.content.iter_chunked(_CHUNK):
                if len(body.data) + len(chunk) > limit:
                    return BodyProblem.TOO_LARGE
                if not bodies.add(body, chunk):
                    return BodyProblem.OVERLOADED
                feed(chunk)
    except TimeoutError:
        return BodyProblem.OVERLOADED if body.evicted else BodyProblem.LATE
    except (ConnectionError, web.RequestPayloadError) as error:
        error.__traceback__ = None
        return BodyProblem.CUT
    return BodyProblem.OVERLOADED if body.evicted else None


def _error(problem: BodyProblem, limit: int) -> BodyError:
    message = {
        BodyProblem.TOO_LARGE: f"the body is larger than {limit} bytes",
        BodyProblem.LATE: "the body did not arrive in time",
        BodyProblem.OVERLOADED: "too many bodies are being received: send it again",
        BodyProblem.CUT: "the body ended before its length",
    }
    return BodyError(problem, message[problem])


@dataclass(slots=True, kw_only=True, eq=False)
class IncomingBody:
    """One body, as far as it has come."""

    holder: str
    deadline: asyncio.Timeout
    """When its reading ends, whole or not."""
    data: bytearray = field(default_factory=bytearray)
    evicted: bool = False
    """Whether the body had to make room for others."""

    def give_up(self) -> None:
        self.evicted = True
        self.data = bytearray()
        if not self.deadline.expired():
            self.deadline.reschedule(asyncio.get_running_loop().time())


@dataclass(slots=True, kw_only=True)
class IncomingBodies:
    """The bodies of one server."""

    budget: Budget
    _of_holder: dict[str, list[IncomingBody]] = field(default_factory=dict)

    @property
    def used(self) -> int:
        """Bytes that are held now."""
        return self.budget.used

    def begin(self, body: IncomingBody) -> None:
        self._of_holder.setdefault(body.holder, []).append(body)

    def end(self, body: IncomingBody) -> None:
        """Give back what the body took; of one that was given up nothing is left."""
        bodies = self._of_holder[body.holder]
        bodies.remove(body)
        if not bodies:
            del self._of_holder[body.holder]
        self.budget.give_back(body.holder, len(body.data))

    def add(self, body: IncomingBody, chunk: bytes) -> bool:
        """Take the next bytes of the body in; False where there is no room for them."""
        if body.evicted:
            return False
        while not self.budget.take(body.holder, len(chunk)):
            if not self._evict_for(body.holder, len(chunk)):
                return False
        body.data += chunk
        return True

    def _evict_for(self, holder: str, amount: int) -> bool:
        needed, most = self.budget.held(holder) + amount, self.budget.largest_holder()
        if needed > self.budget.share or self.budget.held(most) <= needed:
            return False
        largest = max(self._of_holder[most], key=lambda body: len(body.data))
        self.budget.give_back(most, len(largest.data))
        largest.give_up()
        return True


LIMITS = web.AppKey("limits", HttpLimits)
BODIES = web.AppKey("bodies", IncomingBodies)
