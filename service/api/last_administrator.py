"""The last administrator stays: a change that would leave an account without one is refused.

Every change that can take access away runs inside `administrator_stays`. An account that has no
administrator already (only the operator can help it: `gitops service grant-admin`) is not held up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.api.call import Call
from service.api.problem import ProblemError
from service.auth.administrators import has_administrator, take_turn


@asynccontextmanager
async def administrator_stays(call: Call) -> AsyncIterator[None]:
    """Around the change; enter it before rows are locked. Raises ProblemError 409."""
    await take_turn(call.connection, call.account)
    had_one = await has_administrator(call.connection, call.account)
    yield
    if had_one and not await has_administrator(call.connection, call.account):
        raise ProblemError(
            409,
            "after this change nobody could administer the account: this is the last administrator",
            rule="last-administrator",
            remedy="Make another person administrator of the whole account first.",
        )
