"""Secrets that the agent makes for itself: keys of its own, logins of its NATS, Redis' password.

They are made where they are missing, by whichever replica comes first, and are the same for all
replicas: a standby verifies what the former leader signed, and reads what it encrypted. Nothing in
the chart or in Git holds a secret, and none is ever printed.

    {agent keys}   sign commands, encrypt what is kept outside of the cluster
    {logins}       seeds of the agent and the bridge, and the server's part, which is not secret
    {logins}-subscriber   the seed of whoever may read facts: a Secret of its own to be granted
    {password}     of the Redis beside the agent, and the server's part
"""

from __future__ import annotations

import asyncio
import base64
import secrets as randomness
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import orjson
import structlog

from agent.kube.client import KubeClient
from agent.kube.errors import ConflictError, NotFoundError
from bus.jetstream.authorization import authorization, new_seed, users_of
from bus.logins import Login
from bus.signature import KEY_BYTES
from bus.subjects import Scope
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

log = structlog.get_logger()

AGENT_KEYS = "gitops-agent-keys"
SUBSCRIBER_SUFFIX = "-subscriber"
SEED_SUFFIX = ".nk"
SERVER_PART = "logins.conf"
_LABELS = {"app.kubernetes.io/part-of": "gitops-house"}
_AGAIN_SECONDS = 2.0

Data = Mapping[str, str]
Complete = Callable[[Data], Data]
"""What a Secret should hold, by what it holds."""


class OwnSecretError(Exception):
    """The Secret can neither be read nor made; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKeys:
    commands: bytes = field(repr=False)
    artifacts: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnSecrets:
    """Every method waits for the API server, and raises OwnSecretError where it refuses."""

    client: KubeClient
    namespace: str

    async def agent_keys(self) -> AgentKeys:
        data = await self._load(AGENT_KEYS, _with_keys)
        return AgentKeys(commands=_key(data, "commands"), artifacts=_key(data, "artifacts"))

    async def nats_logins(self, name: str, scope: Scope) -> Mapping[Login, str]:
        """The seed of each login; the server beside us reads the rest of these Secrets."""
        reader = await self._load(f"{name}{SUBSCRIBER_SUFFIX}", _with_seeds(Login.SUBSCRIBER))
        seeds = {Login.SUBSCRIBER: reader[_seed(Login.SUBSCRIBER)]}
        own = await self._load(name, _with_logins(scope, seeds))
        return {**seeds, **{one: own[_seed(one)] for one in (Login.AGENT, Login.BRIDGE)}}

    async def redis_password(self, name: str) -> str:
        data = await self._load(name, _with_password)
        return data["password"]

    async def _load(self, name: str, complete: Complete) -> Data:
        while True:
            try:
                return await self._completed(name, complete)
            except (ConflictError, ClusterUnreachableError) as error:
                log.info("own Secret not read yet", secret=name, cause=str(error))
                await asyncio.sleep(_AGAIN_SECONDS)
            except (ApplyRefusedError, msgspec.MsgspecError, ValueError) as error:
                text = (
                    f"Secret {self.namespace}/{name} can neither be used nor made: {error}. "
                    "The agent needs the rights to create Secrets in its own namespace and to "
                    "update this one; one with wrong content may be deleted and is made again"
                )
                raise OwnSecretError(text) from error

    async def _completed(self, name: str, complete: Complete) -> Data:
        try:
            found = msgspec.json.decode(await self.client.get(self._path(name)), type=_Secret)
        except NotFoundError:
            return await self._create(name, complete({}))
        data = {one: base64.b64decode(raw).decode() for one, raw in found.data.items()}
        wanted = complete(data)
        if wanted != data:
            version = {"resourceVersion": found.metadata.resource_version}
            patch = {"metadata": version, "stringData": dict(wanted)}
            await self.client.merge_patch(self._path(name), patch)
            log.info("own Secret completed", secret=name, keys=_changed(data, wanted))
        return wanted

    async def _create(self, name: str, data: Data) -> Data:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": _LABELS},
            "stringData": dict(data),
        }
        await self.client.create(self._collection, orjson.dumps(body))
        log.info("own Secret made", secret=name, keys=sorted(data))
        return data

    @property
    def _collection(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    def _path(self, name: str) -> str:
        return f"{self._collection}/{name}"


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Secret(msgspec.Struct, frozen=True):
    metadata: _Meta
    data: dict[str, str] = {}


def _with_keys(data: Data) -> Data:
    missing = {name: _new_key() for name in ("commands", "artifacts") if name not in data}
    return {**data, **missing}


def _with_seeds(*logins: Login) -> Complete:
    def complete(data: Data) -> Data:
        missing = {_seed(one): new_seed() for one in logins if _seed(one) not in data}
        return {**data, **missing}

    return complete


def _with_logins(scope: Scope, others: Mapping[Login, str]) -> Complete:
    """The server's part follows from the seeds and from what this version permits."""

    def complete(data: Data) -> Data:
        own = (Login.AGENT, Login.BRIDGE)
        seeded = _with_seeds(*own)(data)
        seeds = {**{one: seeded[_seed(one)] for one in own}, **others}
        return {**seeded, SERVER_PART: authorization(users_of(scope, seeds))}

    return complete


def _with_password(data: Data) -> Data:
    password = data.get("password") or randomness.token_urlsafe(32)
    return {**data, "password": password, "redis.conf": f"requirepass {password}\n"}


def _seed(login: Login) -> str:
    return f"{login}{SEED_SUFFIX}"


def _new_key() -> str:
    return base64.b64encode(randomness.token_bytes(KEY_BYTES)).decode()


def _key(data: Data, name: str) -> bytes:
    raw = base64.b64decode(data[name], validate=True)
    if len(raw) != KEY_BYTES:
        raise OwnSecretError(
            f"key {name} of Secret {AGENT_KEYS} has {len(raw)} bytes, expected {KEY_BYTES}: "
            "delete the Secret, it is made again"
        )
    return raw


def _changed(before: Data, after: Data) -> list[str]:
    return sorted(name for name, value in after.items() if before.get(name) != value)
