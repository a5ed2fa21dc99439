"""Heeding: a NATS client whose calls never swallow a cancellation.

`asyncio.wait_for` of Python 3.11, on which nats-py builds, returns the result where a cancellation
and the result come in the same turn of the loop: one in twelve cancelled requests went on as if
nobody had asked them to end, and a loop around such a call then ran for ever. What was asked is
still counted by the task, so it is said again here. From Python 3.12 on there is nothing to mend.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from nats.aio.client import Client
from nats.aio.msg import Msg

T = TypeVar("T")


async def heeded(call: Awaitable[T]) -> T:
    """The result of the call, unless this task was cancelled in the meantime."""
    task = asyncio.current_task()
    before = task.cancelling() if task else 0
    result = await call
    if task and task.cancelling() > before:
        raise asyncio.CancelledError
    return result


class HeedingClient(Client):
    """Everything of JetStream (publish, streams, buckets) goes through `request`."""

    async def request(self, *words: Any, **named: Any) -> Msg:
        return await heeded(super().request(*words, **named))
