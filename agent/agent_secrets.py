"""The agent makes Secrets for itself: its own keys, the logins of its NATS, Redis' password.

A missing Secret is made by the first replica that needs it, and all replicas share it: a standby
verifies what the former leader signed, and decrypts what it stored. The chart and Git hold no
secret, and no secret is ever printed.

    {agent keys}   sign commands, encrypt what is kept outside of the cluster {logins}       seeds
    of the agent and the bridge, and the server's part, which is not secret {logins}-subscriber
    the seed of a reader of facts: a Secret of its own, so that it can be granted {password}     of
    the Redis beside the agent, and the server's part
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
from agent.kube.core_api import secrets_path
from agent.kube.errors import ConflictError, NotFoundError
from agent.settings import Settings
from bus.jetstream.authorization import authorization, new_seed, users_of
from bus.logins import BusLogin
from bus.signature import KEY_BYTES
from bus.subjects import AgentScope
from handlers.ports import ApplyRefusedError, ClusterUnreachableError

log = structlog.get_logger()

AGENT_KEYS = "gitops-agent-keys"
SUBSCRIBER_SUFFIX = "-subscriber"
SEED_SUFFIX = ".nk"
SERVER_PART = "logins.conf"
_LABELS = {"app.kubernetes.io/part-of": "plumbline"}
_AGAIN_SECONDS = 2.0

Data = Mapping[str, str]
Complete = Callable[[Data], Data]
"""(what a Secret holds) -> what it should hold."""


def own_secrets(settings: Settings) -> frozenset[str]:
    """Name the Secrets that the agent makes for itself with these settings."""
    logins = settings.nats.logins_secret
    named = (AGENT_KEYS, logins, logins and logins + SUBSCRIBER_SUFFIX)
    return frozenset(name for name in (*named, settings.redis.password_secret) if name)


class AgentSecretError(Exception):
    """The Secret can neither be read nor made; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKeys:
    commands: bytes = field(repr=False)
    artifacts: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSecrets:
    """Every method waits for the API server, and raises AgentSecretError where it refuses."""

    client: KubeClient
    namespace: str

    async def agent_keys(self) -> AgentKeys:
        data = await self._load(AGENT_KEYS, _with_keys)
        return AgentKeys(commands=_key(data, "commands"), artifacts=_key(data, "artifacts"))

    async def nats_logins(self, name: str, scope: AgentScope) -> Mapping[BusLogin, str]:
        """Return the seed of each login; the NATS server reads the rest of these Secrets."""
        reader = await self._load(f"{name}{SUBSCRIBER_SUFFIX}", _with_seeds(BusLogin.SUBSCRIBER))
        seeds = {BusLogin.SUBSCRIBER: reader[_seed(BusLogin.SUBSCRIBER)]}
        own = await self._load(name, _with_logins(scope, seeds))
        return {
            **seeds,
            **{login: own[_seed(login)] for login in (BusLogin.AGENT, BusLogin.BRIDGE)},
        }

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
                raise AgentSecretError(text) from error

    async def _completed(self, name: str, complete: Complete) -> Data:
        try:
            found = msgspec.json.decode(await self.client.get(self._path(name)), type=_Secret)
        except NotFoundError:
            return await self._create(name, complete({}))
        data = {one: base64.b64decode(raw).decode() for one, raw in found.data.items()}
        desired = complete(data)
        if desired != data:
            version = {"resourceVersion": found.metadata.resource_version}
            patch = {"metadata": version, "stringData": dict(desired)}
            await self.client.merge_patch(self._path(name), patch)
            log.info("own Secret completed", secret=name, keys=_changed(data, desired))
        return desired

    async def _create(self, name: str, data: Data) -> Data:
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": _LABELS},
            "stringData": dict(data),
        }
        await self.client.create(self._collection, orjson.dumps(body))
        log.info("own Secret created", secret=name, keys=sorted(data))
        return data

    @property
    def _collection(self) -> str:
        return secrets_path(self.namespace)

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


def _with_seeds(*logins: BusLogin) -> Complete:
    def complete(data: Data) -> Data:
        missing = {_seed(one): new_seed() for one in logins if _seed(one) not in data}
        return {**data, **missing}

    return complete


def _with_logins(scope: AgentScope, others: Mapping[BusLogin, str]) -> Complete:
    """Complete the server's part, which follows from the seeds and this version's permissions."""

    def complete(data: Data) -> Data:
        own = (BusLogin.AGENT, BusLogin.BRIDGE)
        seeded = _with_seeds(*own)(data)
        seeds = {**{one: seeded[_seed(one)] for one in own}, **others}
        return {**seeded, SERVER_PART: authorization(users_of(scope, seeds))}

    return complete


def _with_password(data: Data) -> Data:
    password = data.get("password") or randomness.token_urlsafe(32)
    return {**data, "password": password, "redis.conf": f"requirepass {password}\n"}


def _seed(login: BusLogin) -> str:
    return f"{login}{SEED_SUFFIX}"


def _new_key() -> str:
    return base64.b64encode(randomness.token_bytes(KEY_BYTES)).decode()


def _key(data: Data, name: str) -> bytes:
    raw = base64.b64decode(data[name], validate=True)
    if len(raw) != KEY_BYTES:
        raise AgentSecretError(
            f"key {name} of Secret {AGENT_KEYS} has {len(raw)} bytes, expected {KEY_BYTES}: "
            "delete the Secret, it is made again"
        )
    return raw


def _changed(before: Data, after: Data) -> list[str]:
    return sorted(name for name, value in after.items() if before.get(name) != value)
