"""The webhook of a push as GitHub sends it: JSON, three headers, and an HMAC over the very bytes.

The values are pure: what a receiver must be able to verify. `DeliverySender` sends them.
Source: GitHub's "Webhook events and payloads" (push) and "Validating webhook deliveries".
"""

import asyncio
import datetime as dt
import hashlib
import hmac
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

import aiohttp
import msgspec
import orjson

from playground.gitstore import NOTHING, CommitSummary


class PushWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """Where a repository announces its pushes, and the secret that signs them."""

    url: str
    secret: str


class PushPayload(msgspec.Struct, frozen=True, kw_only=True):
    """One reference that moved."""

    repository: str
    clone_url: str
    reference: str
    before: str
    after: str
    forced: bool = False
    commits: tuple[CommitSummary, ...] = ()


def payload(push: PushPayload, default_branch: str) -> bytes:
    commits = [_commit(push, commit) for commit in push.commits]
    return orjson.dumps(
        {
            "ref": push.reference,
            "before": push.before,
            "after": push.after,
            "created": push.before == NOTHING,
            "deleted": push.after == NOTHING,
            "forced": push.forced,
            "repository": _repository(push, default_branch),
            "pusher": {"name": "playground", "email": "playground@localhost"},
            "commits": commits,
            "head_commit": commits[-1] if commits else None,
        }
    )


def headers(body: bytes, secret: str, delivery: str) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {
        "Content-Type": "application/json",
        "User-Agent": "GitHub-Hookshot/playground",
        "X-GitHub-Event": "push",
        "X-GitHub-Delivery": delivery,
        "X-Hub-Signature-256": f"sha256={digest}",
    }


def _repository(push: PushPayload, default_branch: str) -> dict[str, Any]:
    owner, _, name = push.repository.rpartition("/")
    page = push.clone_url.removesuffix(".git")
    return {
        "id": int(hashlib.sha256(push.repository.encode()).hexdigest()[:8], 16),
        "name": name,
        "full_name": push.repository,
        "owner": {"name": owner, "login": owner},
        "private": False,
        "html_url": page,
        "url": page,
        "clone_url": push.clone_url,
        "default_branch": default_branch,
    }


def _commit(push: PushPayload, commit: CommitSummary) -> dict[str, Any]:
    time = dt.datetime.fromtimestamp(commit.time, dt.UTC).isoformat()
    person = {"name": "Playground", "email": "playground@localhost"}
    return {
        "id": commit.id,
        "message": commit.message,
        "timestamp": time,
        "url": f"{push.clone_url.removesuffix('.git')}/commit/{commit.id}",
        "author": person,
        "committer": person,
        "added": commit.added,
        "modified": commit.modified,
        "removed": commit.removed,
    }


_TIMEOUT = aiohttp.ClientTimeout(total=60)


class SentDelivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one webhook: the receiver's status, or why there is none."""

    id: str
    push: PushPayload
    status: int | None
    error: str = ""


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook to send, and whom to tell afterwards."""

    id: str
    push: PushPayload
    webhook: PushWebhook
    default_branch: str
    on_delivery: Callable[[SentDelivery], None]


class DeliverySender:
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
                parcel.on_delivery(await _send(session, parcel))


async def _send(session: aiohttp.ClientSession, parcel: Parcel) -> SentDelivery:
    body = payload(parcel.push, parcel.default_branch)
    signed = headers(body, parcel.webhook.secret, parcel.id)
    try:
        async with session.post(parcel.webhook.url, data=body, headers=signed) as answer:
            return SentDelivery(id=parcel.id, push=parcel.push, status=answer.status)
    except (aiohttp.ClientError, TimeoutError) as error:
        return SentDelivery(id=parcel.id, push=parcel.push, status=None, error=repr(error))
