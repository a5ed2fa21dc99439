"""Webhooks on their way: one task sends each once, in order, and says what became of it.

Like the large hosts it does not try again; a person may ask for a redelivery. Any thread may put.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

import aiohttp
import msgspec

from playground.pushes import Push, Webhook, headers, payload

_TIMEOUT = aiohttp.ClientTimeout(total=10)


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one webhook: the receiver's status, or why there is none."""

    id: str
    push: Push
    status: int | None
    error: str = ""


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook to send, and whom to tell afterwards."""

    id: str
    push: Push
    webhook: Webhook
    default_branch: str
    told: Callable[[Delivery], None]


class Deliveries:
    """`async with` runs the task; what still waits at the end is dropped."""

    def __init__(self) -> None:
        self._parcels: asyncio.Queue[Parcel] = asyncio.Queue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    def put(self, parcel: Parcel) -> None:
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._parcels.put_nowait, parcel)

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._task = self._loop.create_task(self._send_all(), name="webhook deliveries")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _send_all(self) -> None:
        async with aiohttp.ClientSession(timeout=_TIMEOUT) as session:
            while True:
                parcel = await self._parcels.get()
                parcel.told(await _send(session, parcel))


async def _send(session: aiohttp.ClientSession, parcel: Parcel) -> Delivery:
    body = payload(parcel.push, parcel.default_branch)
    signed = headers(body, parcel.webhook.secret, parcel.id)
    try:
        async with session.post(parcel.webhook.url, data=body, headers=signed) as answer:
            return Delivery(id=parcel.id, push=parcel.push, status=answer.status)
    except (aiohttp.ClientError, TimeoutError) as error:
        return Delivery(id=parcel.id, push=parcel.push, status=None, error=repr(error))
