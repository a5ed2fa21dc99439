"""A tiny agent for tests and load: it speaks the link's frames and nothing else.

`AgentKeyPair` is an agent's; `enrol` and `open_session` are the HTTP steps; `AgentConnection` is
one WebSocket; `FakeOutbox` makes chained items and holds the objects that resync is about.
"""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import aiohttp
import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from nacl.public import PrivateKey

from bus.identity import new_id
from bus.link import (
    PROOF_HEADER,
    PROTOCOL,
    Ack,
    AgentSession,
    Beat,
    Bodies,
    BucketMember,
    DownFrame,
    Enrol,
    Enrolled,
    HashBucket,
    Hello,
    ItemKind,
    Items,
    LinkItem,
    Root,
    Roots,
    SessionRequest,
    StateBody,
    UpFrame,
    WantBodies,
    WantBuckets,
    Welcome,
    connection_proof,
    proof,
)
from bus.link.digest import content_hash, in_buckets, root_of_members

T = TypeVar("T")
F = TypeVar("F", bound=DownFrame)
_TIMEOUT = aiohttp.ClientTimeout(total=120)
_FRAMES: msgspec.json.Decoder[DownFrame] = msgspec.json.Decoder(DownFrame)
CLUSTER = "cluster-1"
TIME = "2026-11-21T10:00:00Z"


class HandshakeRefusedError(Exception):
    def __init__(self, status: int, body: dict[str, Any]) -> None:
        super().__init__(f"{status} {body}")
        self.status = status
        self.rule = body.get("rule", "")
        self.body = body


@dataclass(frozen=True, slots=True)
class AgentKeyPair:
    private: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)
    sealing: PrivateKey = field(default_factory=PrivateKey.generate)

    @property
    def public(self) -> str:
        raw = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    def sign(self, purpose: str, text: str) -> str:
        return base64.b64encode(self.private.sign(proof(purpose, text))).decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentIdentity:
    url: str
    account: str
    agent: str
    key_id: str
    keys: AgentKeyPair


async def post(url: str, path: str, body: Any, answer: type[T]) -> T:
    """Raises RefusedError."""
    async with (
        aiohttp.ClientSession(timeout=_TIMEOUT) as http,
        http.post(f"{url}/api/v1/link/{path}", data=msgspec.json.encode(body)) as response,
    ):
        data = await response.read()
        if response.status != 200:
            raise HandshakeRefusedError(response.status, json.loads(data))
        return msgspec.json.decode(data, type=answer)


async def enrol(url: str, token: str, keys: AgentKeyPair, cluster: str = CLUSTER) -> AgentIdentity:
    ask = Enrol(
        token=token,
        public_key=keys.public,
        sealing_key=base64.b64encode(bytes(keys.sealing.public_key)).decode(),
        cluster_uid=cluster,
        version="1.0",
        proof=keys.sign("enrol", token),
    )
    answer = await post(url, "enrol", ask, Enrolled)
    return AgentIdentity(
        url=url, account=answer.account, agent=answer.agent, key_id=answer.key_id, keys=keys
    )


async def challenge(identity: AgentIdentity) -> str:
    answer = await post(identity.url, "challenge", {"agent": identity.agent}, dict[str, Any])
    return str(answer["nonce"])


async def open_session(
    identity: AgentIdentity, following: str = "", protocol: int = PROTOCOL[1]
) -> AgentSession:
    """Of an agent that speaks `protocol`."""
    nonce = await challenge(identity)
    ask = SessionRequest(
        account=identity.account,
        agent=identity.agent,
        key_id=identity.key_id,
        nonce=nonce,
        signature=identity.keys.sign("session", nonce),
        protocol=protocol,
        next_public_key=following,
    )
    return await post(identity.url, "session", ask, AgentSession)


@dataclass(slots=True)
class AgentConnection:
    socket: aiohttp.ClientWebSocketResponse
    welcome: Welcome | None = None

    async def send(self, frame: UpFrame) -> None:
        await self.socket.send_str(msgspec.json.encode(frame).decode())

    async def receive(self, within: float = 90) -> DownFrame:
        """Raises ConnectionError at the end, with the code and the reason."""
        message = await self.socket.receive(timeout=within)
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise ConnectionError(f"{message.data} {message.extra}")
        return _FRAMES.decode(message.data)

    async def until(self, kind: type[F]) -> F:
        """The next frame of this type; others are passed over."""
        while True:
            frame = await self.receive()
            if isinstance(frame, kind):
                return frame

    async def hello(self, identity: AgentIdentity, epoch: str, **more: Any) -> Welcome:
        answer: dict[str, Any] = {"protocol": PROTOCOL, "cluster_uid": CLUSTER, **more}
        await self.send(
            Hello(
                account=identity.account,
                agent=identity.agent,
                instance=new_id(),
                epoch=epoch,
                version="1.0",
                **answer,
            )
        )
        self.welcome = await self.until(Welcome)
        return self.welcome

    async def put(self, items: Sequence[LinkItem]) -> Ack:
        await self.send(Items(items=tuple(items)))
        return await self.until(Ack)


def handshake(identity: AgentIdentity, session: AgentSession) -> dict[str, str]:
    """The headers by which the holder of the key opens one connection."""
    message = connection_proof(identity.account, identity.agent, identity.key_id, session.nonce)
    signature = base64.b64encode(identity.keys.private.sign(message)).decode()
    return {
        "Authorization": f"Bearer {session.token}",
        PROOF_HEADER: f"{identity.key_id} {signature}",
    }


@asynccontextmanager
async def connect(
    identity: AgentIdentity,
    session: AgentSession | None = None,
    headers: Mapping[str, str] | None = None,
) -> AsyncIterator[AgentConnection]:
    """Before its Hello."""
    session = session or await open_session(identity)
    headers = {**handshake(identity, session), **(headers or {})}
    async with (
        aiohttp.ClientSession(timeout=_TIMEOUT) as http,
        http.ws_connect(
            f"{identity.url}/api/v1/link", headers=headers, max_msg_size=1 << 22
        ) as socket,
    ):
        yield AgentConnection(socket)


def application(name: str, uid: str = "", **more: Any) -> StateBody:
    """`sync`, `health`, `revision`, `labels`, `project` may be given."""
    return StateBody(
        kind="Application",
        namespace="argocd",
        name=name,
        labels=more.get("labels", {}),
        spec={
            "project": more.get("project", "default"),
            "source": {"repoURL": "https://git/x", "path": name, "targetRevision": "main"},
        },
        status={
            "sync": {"status": more.get("sync", "Synced"), "revision": more.get("revision", "a")},
            "health": {"status": more.get("health", "Healthy")},
        },
    )


def deployed(body: StateBody, *ids: int) -> StateBody:
    """The same application with these entries in its history."""
    history = [{"id": number, "revision": "a" * 40} for number in ids]
    return msgspec.structs.replace(body, status={**body.status, "history": history})


@dataclass(slots=True)
class FakeOutbox:
    """One epoch: a chain of items, and the objects that they are about."""

    epoch: str = field(default_factory=new_id)
    sequence: int = 0
    objects: dict[str, dict[str, tuple[str, StateBody]]] = field(
        default_factory=lambda: {"Application": {}}
    )
    """Kind -> subject -> uid and body."""

    def state(self, body: StateBody, uid: str = "", time: str = TIME) -> LinkItem:
        """The object is this now."""
        subject = f"{body.namespace}/{body.name}"
        uid = uid or f"uid-{body.name}"
        self.objects.setdefault(body.kind, {})[subject] = (uid, body)
        return self._next(_state_item(subject, uid, body, time))

    def gone(self, kind: str, subject: str) -> LinkItem:
        self.objects[kind].pop(subject)
        return self._next(_tombstone(kind, subject))

    def fact(
        self, type_: str, subject: str, body: dict[str, Any], correlation: str = ""
    ) -> LinkItem:
        item = _item(ItemKind.FACT, type_, subject, body)
        return self._next(msgspec.structs.replace(item, correlation=correlation))

    def task(self, type_: str, body: msgspec.Struct) -> LinkItem:
        plain = msgspec.json.decode(msgspec.json.encode(body))
        return self._next(_item(ItemKind.TASK, type_, plain["id"], plain))

    def roots(self) -> Roots:
        kinds = {}
        for kind in self.objects:
            members = self.members(kind)
            kinds[kind] = Root(root=root_of_members(members), count=len(members))
        return Roots(kinds=kinds, through=self.sequence)

    def members(self, kind: str) -> list[BucketMember]:
        return [
            BucketMember(subject=subject, uid=uid, hash=content_hash(msgspec.to_builtins(body)))
            for subject, (uid, body) in self.objects[kind].items()
        ]

    def answers(self, frame: DownFrame) -> list[UpFrame]:
        """What an agent says to these questions."""
        if isinstance(frame, WantBuckets):
            return self._buckets(frame)
        if isinstance(frame, WantBodies):
            return [self._bodies(frame)]
        if isinstance(frame, Beat) and not frame.echo:
            return [Beat(sent_at=frame.sent_at, echo=frame.sent_at)]
        return []

    def _buckets(self, frame: WantBuckets) -> list[UpFrame]:
        parts = in_buckets(self.members(frame.kind))
        return [
            HashBucket(
                kind=frame.kind,
                bucket=number,
                members=tuple(parts.get(number, ())),
                through=self.sequence,
            )
            for number in frame.buckets
        ]

    def _bodies(self, frame: WantBodies) -> Bodies:
        held = self.objects[frame.kind]
        items = tuple(
            _state_item(subject, *held[subject], TIME)
            if subject in held
            else _tombstone(frame.kind, subject)
            for subject in frame.subjects
        )
        return Bodies(kind=frame.kind, items=items)

    def _next(self, item: LinkItem) -> LinkItem:
        before, self.sequence = self.sequence, self.sequence + 1
        return msgspec.structs.replace(item, sequence=self.sequence, before=before)


async def resync(connection: AgentConnection, outbox: FakeOutbox) -> int:
    """Tell the roots and answer until nothing is asked; the number of bodies that were asked for.

    The end is known by a beat: frames are answered in order.
    """
    asked, mark = 0, 1.0
    await connection.send(outbox.roots())
    await connection.send(Beat(sent_at=mark))
    while True:
        frame = await connection.receive()
        if isinstance(frame, Beat) and frame.echo == mark:
            return asked
        answers = outbox.answers(frame)
        asked += len(frame.subjects) if isinstance(frame, WantBodies) else 0
        for answer in answers:
            await connection.send(answer)
        if answers:
            mark += 1
            await connection.send(Beat(sent_at=mark))


def _state_item(subject: str, uid: str, body: StateBody, time: str) -> LinkItem:
    plain = msgspec.to_builtins(body)
    item = _item(ItemKind.STATE, f"{body.kind.lower()}.v1", subject, plain, time)
    return msgspec.structs.replace(item, uid=uid, hash=content_hash(plain))


def _tombstone(kind: str, subject: str) -> LinkItem:
    item = _item(ItemKind.STATE, f"{kind.lower()}.v1", subject, {})
    return msgspec.structs.replace(item, deleted=True)


def _item(
    kind: ItemKind, type_: str, subject: str, body: dict[str, Any], time: str = TIME
) -> LinkItem:
    return LinkItem(
        sequence=0,
        before=0,
        kind=kind,
        type=type_,
        id=new_id(),
        subject=subject,
        time=time,
        body=msgspec.Raw(msgspec.json.encode(body)),
    )
