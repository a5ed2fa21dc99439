"""KeyStore: the Secret `gitops-agent-link` of the control namespace, with the keys of the link.

The private keys of the agent towards the service never leave the cluster. The Ed25519 key signs
proofs of identity, the X25519 key opens boxes sealed for this agent. The salt makes the
fingerprints of masked values, and is kept so that they stay equal after a restart.
"""

from __future__ import annotations

import base64
import secrets as randomness
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
import orjson
import structlog
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from nacl.public import PrivateKey

from agent.bridge.identity.audit_heads import AuditWitness
from agent.kube.client import KubeClient
from agent.kube.core_api import secrets_path
from agent.kube.errors import ConflictError, NotFoundError
from bus.link.sealing import sealing_fingerprint

log = structlog.get_logger()

SECRET = "gitops-agent-link"  # noqa: S105  the name of an object
_AUDIT = "audit"
_LABELS = {"app.kubernetes.io/part-of": "plumbline"}


class LinkKeys(msgspec.Struct, frozen=True, kw_only=True):
    """Seeds as base64. `next_seed` is the successor of `signing_seed` during a replacement."""

    signing_seed: str
    sealing_seed: str
    salt: str
    made_at: str = ""
    next_seed: str = ""
    account: str = ""
    agent: str = ""
    key_id: str = ""
    service: str = ""
    """URL of the service at which the keys are enrolled."""
    token_hash: str = ""
    """SHA-256 of the enrolment token that was used; another token may enrol again."""

    def __repr__(self) -> str:
        return f"Keys({self.account}/{self.agent} {self.key_id})"

    @property
    def enrolled(self) -> bool:
        return bool(self.key_id)

    @property
    def public_key(self) -> str:
        return public_key_of(self.signing_seed)

    @property
    def sealing_key(self) -> str:
        return _written(bytes(self.opening_key.public_key))

    @property
    def sealing_fingerprint(self) -> str:
        return sealing_fingerprint(self.sealing_key)

    @property
    def opening_key(self) -> PrivateKey:
        return PrivateKey(_read(self.sealing_seed))

    @property
    def salt_bytes(self) -> bytes:
        return _read(self.salt)

    def sign(self, message: bytes) -> str:
        return _written(
            Ed25519PrivateKey.from_private_bytes(_read(self.signing_seed)).sign(message)
        )


def new_keys(now: str) -> LinkKeys:
    return LinkKeys(
        signing_seed=new_seed(),
        sealing_seed=_written(bytes(PrivateKey.generate())),
        salt=_written(randomness.token_bytes(32)),
        made_at=now,
    )


def new_seed() -> str:
    return _written(Ed25519PrivateKey.generate().private_bytes_raw())


def public_key_of(seed: str) -> str:
    key = Ed25519PrivateKey.from_private_bytes(_read(seed)).public_key()
    return _written(key.public_bytes(Encoding.Raw, PublicFormat.Raw))


def to_secret(keys: LinkKeys) -> dict[str, str]:
    """The `stringData` of the Secret."""
    return {name: value for name, value in msgspec.structs.asdict(keys).items() if value}


def from_secret(data: Mapping[str, str]) -> LinkKeys:
    """Read the keys of a Secret's `data`; raises ValueError if they are not valid."""
    plain = {name: base64.b64decode(value).decode() for name, value in data.items()}
    return msgspec.convert(plain, LinkKeys)


def _written(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _read(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


class BrokenKeysError(Exception):
    """The Secret exists and holds no valid keys: a person has to act."""


class _Secret(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyStore:
    client: KubeClient
    namespace: str

    async def load(self, now: datetime) -> LinkKeys:
        """Load the keys; if there are none, create and store them first. Raises BrokenKeysError."""
        return await self.read() or await self._make(now)

    async def read(self) -> LinkKeys | None:
        """Read the keys; None where there are none yet. Raises BrokenKeysError."""
        try:
            raw = await self.client.get(self._path)
        except NotFoundError:
            return None
        try:
            return from_secret(msgspec.json.decode(raw, type=_Secret).data)
        except (msgspec.MsgspecError, ValueError):
            text = (
                f"Secret {self.namespace}/{SECRET} holds no valid keys: delete it and enrol again"
            )
            raise BrokenKeysError(text) from None

    async def save(self, keys: LinkKeys) -> None:
        values = {**dict.fromkeys(msgspec.structs.asdict(keys), ""), **to_secret(keys)}
        await self.client.merge_patch(self._path, {"stringData": values})

    async def load_witness(self) -> AuditWitness:
        """The heads of the service's audit log; empty if there are none or they are unreadable."""
        try:
            data = msgspec.json.decode(await self.client.get(self._path), type=_Secret).data
            return msgspec.json.decode(base64.b64decode(data[_AUDIT]), type=AuditWitness)
        except (NotFoundError, KeyError):
            return AuditWitness()
        except (msgspec.MsgspecError, ValueError) as error:
            log.warning(
                "heads of the audit log are unreadable: starting with none",
                secret=SECRET,
                reason=str(error),
            )
            return AuditWitness()

    async def save_witness(self, witness: AuditWitness) -> None:
        text = msgspec.json.encode(witness).decode()
        await self.client.merge_patch(self._path, {"stringData": {_AUDIT: text}})

    async def _make(self, now: datetime) -> LinkKeys:
        keys = new_keys(now.isoformat())
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET, "labels": _LABELS},
            "stringData": to_secret(keys),
        }
        try:
            await self.client.create(self._collection, orjson.dumps(body))
        except ConflictError:
            return await self.load(now)
        log.info("keys of the link made", secret=SECRET)
        return keys

    @property
    def _collection(self) -> str:
        return secrets_path(self.namespace)

    @property
    def _path(self) -> str:
        return f"{self._collection}/{SECRET}"
