"""Errors as problems: what the database, other parts of the service and the router raise.

Each error is translated in one place, so handlers repeat no `try`. An error that is named nowhere
here is a bug, and answered as one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from aiohttp import web
from asyncpg import DataError
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError

from service.auth.administrators import LastAdministratorError
from service.auth.passwords import TooManyWaitingError
from service.gateway.agent_task_kinds import UPGRADE, UnsupportedTaskError
from service.http.problem import HEADERS, ProblemError, answer

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_EXISTS = "23505"
"""A value that has to be unique is there already; PostgreSQL's code."""
_IN_EACH_OTHERS_WAY = ("40001", "40P01")
"""Serialisation failure and deadlock: PostgreSQL ended one of two transactions."""


@contextmanager
def problems_of_errors() -> Iterator[None]:
    """Translate the errors of other parts into problems."""
    try:
        yield
    except TooManyWaitingError as e:
        raise _busy() from e
    except UnsupportedTaskError as e:
        raise _unsupported(e) from e
    except LastAdministratorError as e:
        raise _last_administrator() from e
    except IntegrityError as e:
        raise _conflict(getattr(e.orig, "sqlstate", "")) from e
    except (ConnectionRefusedError, PoolTimeoutError) as e:
        raise _away() from e
    except DBAPIError as e:
        problem = _problem_of(e)
        if problem is None:
            raise
        raise problem from e


@web.middleware
async def problems(request: web.Request, handler: _Handler) -> web.StreamResponse:
    """Answer the router's own errors below /api/ as problems."""
    try:
        return await handler(request)
    except web.HTTPException as e:
        if not request.path.startswith("/api/") or e.status < 400:
            raise
        allow = {"Allow": e.headers["Allow"]} if "Allow" in e.headers else {}
        problem = ProblemError(e.status, e.reason, remedy="See /api/v1/openapi.json.").problem
        return answer(problem, HEADERS | allow)


def _problem_of(error: DBAPIError) -> ProblemError | None:
    """Name what the caller may try; None where the error is a bug."""
    if error.connection_invalidated:
        return _away()
    if getattr(error.orig, "sqlstate", "") in _IN_EACH_OTHERS_WAY:
        return ProblemError(
            503,
            "another request changed the same data at the same time; nothing was done",
            rule="busy",
            remedy="Try again.",
            headers={"Retry-After": "1"},
        )
    if error.orig is not None and isinstance(error.orig.__cause__, DataError):
        return ProblemError(422, "a value is out of range", rule="range")
    return None


def _conflict(state: str) -> ProblemError:
    if state == _EXISTS:
        detail, remedy = "there is one of this name already", "Choose another name."
    else:
        detail = "something that it names is not there, or something else still needs it"
        remedy = "Look at the ids it refers to, and at what refers to it."
    return ProblemError(409, detail, rule="conflict", remedy=remedy)


def _unsupported(error: UnsupportedTaskError) -> ProblemError:
    return ProblemError(422, str(error), rule="agent-unsupported", remedy=UPGRADE)


def _last_administrator() -> ProblemError:
    return ProblemError(
        409,
        "after this change nobody could administer the account: this is the last administrator",
        rule="last-administrator",
        remedy="Make another person administrator of the whole account first.",
    )


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
