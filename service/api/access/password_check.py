"""The check of a request's password: attempts are counted first, and refused while many wait."""

from __future__ import annotations

from collections.abc import Sequence

from aiohttp import web

from bus.http.budget import holder_of
from service.auth import login_attempts
from service.auth.login_attempts import AttemptLock
from service.auth.passwords import Passwords, TooManyWaitingError
from service.http.call import ENGINE, ApiCall
from service.http.problem import ProblemError

PASSWORDS = web.AppKey("passwords", Passwords)


async def reserve_attempt(call: ApiCall, locks: Sequence[AttemptLock]) -> None:
    """Count an attempt and commit, so that no other overtakes it. Raises ProblemError 429."""
    wait = await login_attempts.reserve(call.connection, locks, call.now)
    if wait > 0:
        seconds = int(wait) + 1
        raise ProblemError(
            429,
            "too many failed logins",
            rule="brute-force",
            remedy=f"Wait {seconds} s.",
            headers={"Retry-After": str(seconds)},
        )
    await call.connection.commit()


async def password_fits(
    call: ApiCall, password: str, known: str, locks: Sequence[AttemptLock]
) -> bool:
    """Compare with the stored hash. An attempt that finds no place was none: it is given back."""
    try:
        holder = holder_of(call.request.remote or "")
        return await call.use(PASSWORDS).fits(password, known, holder)
    except TooManyWaitingError:
        async with call.use(ENGINE).begin() as connection:
            await login_attempts.give_back(connection, locks)
        raise
