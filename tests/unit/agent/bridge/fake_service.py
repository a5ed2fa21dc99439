"""FakeService: the service's end of the link as a small server in the test.

It keeps every frame, acknowledges items, and can misbehave: be silent, cut the link, refuse. The
real counterpart is the gateway of the service.
"""

import asyncio
import base64
import ssl
import time
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiohttp import WSMsgType, web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from bus.link import (
    Ack,
    AgentSession,
    Beat,
    Bodies,
    Challenge,
    Chunk,
    Credit,
    DownFrame,
    End,
    Enrol,
    Enrolled,
    Fenced,
    HashBucket,
    Hello,
    ItemKind,
    Items,
    LinkItem,
    LinkTask,
    Missing,
    Offer,
    Roots,
    SessionRequest,
    TaskResult,
    UpFrame,
    WantBodies,
    WantBuckets,
    Welcome,
    proof,
)
from bus.link.digest import bucket_hash, in_buckets, root_of_members
from bus.link.frames import BucketMember
from tests.support import eventually

_DECODER = msgspec.json.Decoder(UpFrame)


async def some_cluster() -> str:
    """The UID that an agent in a test tells of its cluster."""
    return "u"


@dataclass
class FakeService:
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    port: int = 0
    beat_seconds: float = 15.0
    roots_seconds: float = 1.0
    lifetime: float = 900.0
    ahead: float = 0.0
    """Seconds by which its clock is ahead of ours."""
    tls: ssl.SSLContext | None = None
    window: int = 512
    mute: bool = False
    """Hear everything and say nothing: a half-open link."""
    hold: bool = False
    """Do not acknowledge."""
    keys: dict[str, str] = field(default_factory=dict)
    sealing_key: str = ""
    enrolments: int = 0
    sessions: int = 0
    acked: dict[str, int] = field(default_factory=dict)
    epoch: str = ""
    hellos: list[Hello] = field(default_factory=list)
    items: list[LinkItem] = field(default_factory=list)
    states: dict[tuple[str, str], LinkItem] = field(default_factory=dict)
    results: dict[str, list[TaskResult]] = field(default_factory=dict)
    chunks: dict[str, list[Chunk]] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)
    roots_equal: list[bool] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)
    """Every frame as it came, for those who look for what must not be there."""
    _sockets: list[web.WebSocketResponse] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def now(self) -> float:
        return time.time() + self.ahead

    @property
    def facts(self) -> list[LinkItem]:
        return [item for item in self.items if item.kind is ItemKind.FACT]

    def state(self, kind: str, subject: str) -> dict[str, Any]:
        item = self.states.get((f"{kind.lower()}.v1", subject))
        return msgspec.json.decode(item.body) if item and not item.deleted else {}

    async def send(self, frame: DownFrame) -> None:
        if self._sockets and not self.mute:
            await self._sockets[-1].send_str(msgspec.json.encode(frame).decode())

    async def cut(self) -> None:
        for socket in self._sockets:
            if socket._req is not None and socket._req.transport is not None:
                socket._req.transport.abort()

    async def connected(self, times: int = 1) -> None:
        await eventually(lambda: len(self.hellos) >= times and self._sockets, what="a link")

    async def do(self, task: LinkTask, within: float = 120) -> TaskResult:
        """Offer it until there is a result, as the service does."""
        known = len(self.results.get(task.id, ()))
        await self.send(Offer(task=task))
        ends = await eventually(
            lambda: self.results.get(task.id, [])[known:], within=within, what=f"end of {task.kind}"
        )
        return ends[0]

    @asynccontextmanager
    async def open(self) -> AsyncIterator["FakeService"]:
        application = web.Application()
        base = "/api/v1/link"
        application.add_routes(
            [
                web.post(f"{base}/enrol", self._enrol),
                web.post(f"{base}/challenge", self._challenge),
                web.post(f"{base}/session", self._session),
                web.get(base, self._link),
            ]
        )
        runner = web.AppRunner(application, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self.port, ssl_context=self.tls)
        await site.start()
        self.port = self.port or site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        try:
            yield self
        finally:
            await self.cut()
            await runner.cleanup()
            self._sockets.clear()

    async def _enrol(self, request: web.Request) -> web.Response:
        ask = msgspec.json.decode(await request.read(), type=Enrol)
        if ask.token != self.token or not _signed(
            ask.public_key, ask.proof, proof("enrol", ask.token)
        ):
            return web.json_response({"detail": "the token is not valid"}, status=403)
        self.enrolments, self.token = self.enrolments + 1, uuid.uuid4().hex
        self.keys = {"key-1": ask.public_key}
        self.sealing_key = ask.sealing_key
        return _answer(Enrolled(account="acme", agent="prod-1", key_id="key-1"))

    async def _challenge(self, request: web.Request) -> web.Response:
        return _answer(Challenge(nonce="n" * 20, expires_at=self.now() + 60))

    async def _session(self, request: web.Request) -> web.Response:
        ask = msgspec.json.decode(await request.read(), type=SessionRequest)
        key = self.keys.get(ask.key_id, "")
        if not key or not _signed(key, ask.signature, proof("session", ask.nonce)):
            return web.json_response({"detail": "unknown key"}, status=401)
        key_id = ask.key_id
        if ask.next_public_key:
            key_id = f"key-{len(self.keys) + 1}"
            self.keys[key_id] = ask.next_public_key
        self.sessions += 1
        ends = self.now() + self.lifetime
        return _answer(
            AgentSession(token="t", expires_at=ends, seconds=self.lifetime, key_id=key_id)
        )

    async def _link(self, request: web.Request) -> web.WebSocketResponse:
        assert request.headers["Authorization"] == "Bearer t"
        socket = web.WebSocketResponse(max_msg_size=1 << 20)
        await socket.prepare(request)
        self._sockets.append(socket)
        try:
            async for message in socket:
                if message.type is WSMsgType.TEXT:
                    self.raw.append(message.data)
                    await self._heard(_DECODER.decode(message.data))
        finally:
            self._sockets.remove(socket)
        return socket

    async def _heard(self, frame: UpFrame) -> None:
        match frame:
            case Hello():
                self.hellos.append(frame)
                self.epoch = frame.epoch
                await self.send(
                    Welcome(
                        session="s",
                        fence=len(self.hellos),
                        acked=self.acked.setdefault(frame.epoch, 0),
                        beat_seconds=self.beat_seconds,
                        roots_seconds=self.roots_seconds,
                        window=self.window,
                        server_time=self.now(),
                    )
                )
            case Items():
                await self._take(frame)
            case Beat():
                await self.send(Beat(sent_at=self.now(), echo=frame.sent_at))
            case Roots():
                await self._compare(frame)
            case HashBucket():
                await self._want_bodies(frame)
            case Bodies():
                for item in frame.items:
                    self._keep(item)
            case Chunk():
                self.chunks.setdefault(frame.task, []).append(frame)
            case End():
                self.ends[frame.task] = frame.reason

    async def _take(self, frame: Items) -> None:
        for item in frame.items:
            acked = self.acked[self.epoch]
            if item.sequence <= acked:
                continue
            if item.before > acked:
                await self.send(Missing(after=acked))
                return
            self.acked[self.epoch] = item.sequence
            self.items.append(item)
            self._keep(item)
        if not self.hold:
            await self.send(Ack(through=self.acked[self.epoch]))

    def _keep(self, item: LinkItem) -> None:
        if item.kind is ItemKind.STATE:
            self.states[item.type, item.subject] = item
        elif item.type == "result.v1":
            result = msgspec.json.decode(item.body, type=TaskResult)
            self.results.setdefault(result.id, []).append(result)

    def _members(self, kind: str) -> list[BucketMember]:
        return [
            BucketMember(subject=item.subject, uid=item.uid, hash=item.hash)
            for (type_, _), item in self.states.items()
            if type_ == f"{kind.lower()}.v1" and not item.deleted
        ]

    async def _compare(self, frame: Roots) -> None:
        equal = True
        for kind, root in frame.kinds.items():
            mine = self._members(kind)
            if root_of_members(mine) != root.root:
                equal = False
                await self.send(WantBuckets(kind=kind, buckets=tuple(range(256))))
        self.roots_equal.append(equal)

    async def _want_bodies(self, frame: HashBucket) -> None:
        mine = in_buckets(self._members(frame.kind)).get(frame.bucket, ())
        if bucket_hash(mine) == bucket_hash(frame.members):
            return
        theirs = {member.subject: member for member in frame.members}
        known = {member.subject: member for member in mine}
        differing = [s for s in {*theirs, *known} if theirs.get(s) != known.get(s)]
        await self.send(WantBodies(kind=frame.kind, subjects=tuple(differing)))

    async def credit(self, task: str, chunks: int) -> None:
        await self.send(Credit(task=task, chunks=chunks))

    async def fence(self, reason: str, retry_after: float = 0.0) -> None:
        await self.send(Fenced(reason=reason, retry_after=retry_after))


def _signed(key: str, signature: str, message: bytes) -> bool:
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(key))
    public.verify(base64.b64decode(signature), message)
    return True


def _answer(value: msgspec.Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


async def quiet(fake_service: FakeService) -> None:
    """Until both sides hold the same."""
    before = len(fake_service.roots_equal)
    await eventually(lambda: any(fake_service.roots_equal[before + 1 :]), what="equal roots")
    await asyncio.sleep(0)
