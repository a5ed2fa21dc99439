"""Waiting for facts: how a test says "sooner or later" without a sleep of its own."""

import asyncio
import inspect
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, overload

T = TypeVar("T")

_LOOK_FIRST = 0.02
_LOOK_LAST = 0.2
_SLOWER = 1.3
"""Looks become rarer: fifty a second took more of a processor than what was waited for."""


@overload
async def eventually(
    fact: Callable[[], Awaitable[T]], within: float = ..., what: str = ...
) -> T: ...


@overload
async def eventually(fact: Callable[[], T], within: float = ..., what: str = ...) -> T: ...


async def eventually(fact: Callable[[], Any], within: float = 120, what: str = "") -> Any:
    """Return the first truthy answer of `fact`.

    An AssertionError, a missing key or a list of another length inside it means "not yet". Fails
    with the last answer seen.
    The deadline is generous on purpose: it ends a test that would hang, and says nothing about how
    fast something ought to be.
    """
    deadline, pause = time.monotonic() + within, _LOOK_FIRST
    while True:
        seen = await _look(fact)
        if not isinstance(seen, Exception) and seen:
            return seen
        if time.monotonic() > deadline:
            name = what or getattr(fact, "__name__", repr(fact))
            raise AssertionError(f"not within {within:.0f} s: {name}; last seen: {seen!r}")
        await asyncio.sleep(pause)
        pause = min(pause * _SLOWER, _LOOK_LAST)


async def _look(fact: Callable[[], Any]) -> Any:
    try:
        seen = fact()
        return await seen if inspect.isawaitable(seen) else seen
    except (AssertionError, LookupError, ValueError) as error:
        return error
