"""Bodies of requests: read under a budget of bytes, within a deadline, and let go of when cut off.

aiohttp keeps the error of a cut connection in the request's payload; raised, it holds the frames it
came through, so payload, error, frame and body are a cycle that only the collector's oldest
generation frees. It is caught here and its traceback dropped, so that the body goes at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from enum import StrEnum

from aiohttp import web

from bus.http.budget import Budget, holder_of
from bus.http.limits import HttpLimits

_CHUNK = 1 << 16

LIMITS = web.AppKey("limits", HttpLimits)
BODIES = web.AppKey("bodies", Budget)


class BodyProblem(StrEnum):
    TOO_LARGE = "too_large"
    LATE = "late"
    NO_ROOM = "no_room"
    CUT = "cut"

    @property
    def status(self) -> int:
        """The HTTP status of the answer; nobody reads that of a cut connection."""
        return _STATUS[self]


_STATUS = {
    BodyProblem.TOO_LARGE: 413,
    BodyProblem.LATE: 408,
    BodyProblem.NO_ROOM: 503,
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
    app[BODIES] = Budget(total=limits.bodies, share=limits.bodies_of_address)


async def read_body(
    request: web.Request, limit: int, feed: Callable[[bytes], object] = len
) -> bytes:
    """Read the whole body, of `limit` bytes at most; `feed` is given each piece as it comes.

    Raises BodyError. The budget is given back at the end, so use the bytes at once.
    """
    if (request.content_length or 0) > limit:
        raise _error(BodyProblem.TOO_LARGE, limit)
    budget, holder = request.app[BODIES], holder_of(request.remote or "")
    body = bytearray()
    try:
        problem = await _fill(body, request, limit, feed)
    finally:
        budget.give_back(holder, len(body))
    if problem is not None:
        raise _error(problem, limit)
    return bytes(body)


async def _fill(
    body: bytearray, request: web.Request, limit: int, feed: Callable[[bytes], object]
) -> BodyProblem | None:
    budget, holder = request.app[BODIES], holder_of(request.remote or "")
    try:
        async with asyncio.timeout(request.app[LIMITS].body_seconds):
            async for chunk in request.content.iter_chunked(_CHUNK):
                if len(body) + len(chunk) > limit:
                    return BodyProblem.TOO_LARGE
                if not budget.take(holder, len(chunk)):
                    return BodyProblem.NO_ROOM
                feed(chunk)
                body += chunk
    except TimeoutError:
        return BodyProblem.LATE
    except (ConnectionError, web.RequestPayloadError) as error:
        error.__traceback__ = None
        return BodyProblem.CUT
    return None


def _error(problem: BodyProblem, limit: int) -> BodyError:
    message = {
        BodyProblem.TOO_LARGE: f"the body is larger than {limit} bytes",
        BodyProblem.LATE: "the body did not arrive in time",
        BodyProblem.NO_ROOM: "too many bodies are being received: send it again",
        BodyProblem.CUT: "the body ended before its length",
    }
    return BodyError(problem, message[problem])
