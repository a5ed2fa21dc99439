"""Checking the password of a request: counted first, and refused where too many wait."""

from __future__ import annotations

from collections.abc import Sequence

from bus.http.budget import holder_of
from service.api.call import Call
from service.api.problem import ProblemError
from service.auth import attempts
from service.auth.attempts import AttemptLock
from service.auth.turns import NoPlaceError


async def reserve_attempt(call: Call, locks: Sequence[AttemptLock]) -> None:
    """Count an attempt and commit, so that no other overtakes it. Raises ProblemError 429."""
    wait = await attempts.reserve(call.connection, locks, call.now)
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
    call: Call, password: str, known: str, locks: Sequence[AttemptLock]
) -> bool:
    """Compare with the stored hash. An attempt that finds no place was none: it is given back."""
    try:
        holder = holder_of(call.request.remote or "")
        return await call.tools.passwords.fits(password, known, holder)
    except NoPlaceError:
        async with call.tools.parts.engine.begin() as connection:
            await attempts.give_back(connection, locks)
        raise
