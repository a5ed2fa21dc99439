"""Keeping: the Secret `gitops-agent-link` of the control namespace, where our keys live."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from datetime import datetime

import msgspec
import orjson
import structlog

from agent.bridge.heads import AuditWitness
from agent.bridge.keys import Keys, from_secret, new_keys, to_secret
from agent.kube.client import KubeClient
from agent.kube.errors import ConflictError, NotFoundError

log = structlog.get_logger()

SECRET = "gitops-agent-link"  # noqa: S105  the name of an object
_AUDIT = "audit"
_LABELS = {"app.kubernetes.io/part-of": "gitops-house"}


class BrokenKeysError(Exception):
    """The Secret is there and does not hold keys of ours: a person has to look."""


class _Secret(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Keeping:
    client: KubeClient
    namespace: str

    async def load(self, now: datetime) -> Keys:
        """The keys; made and stored before anybody hears of them where there are none."""
        try:
            raw = await self.client.get(self._path)
        except NotFoundError:
            return await self._make(now)
        try:
            return from_secret(msgspec.json.decode(raw, type=_Secret).data)
        except (msgspec.MsgspecError, ValueError):
            text = f"Secret {self.namespace}/{SECRET} holds no keys of ours: delete it, enrol again"
            raise BrokenKeysError(text) from None

    async def save(self, keys: Keys) -> None:
        values = {**dict.fromkeys(msgspec.structs.asdict(keys), ""), **to_secret(keys)}
        await self.client.merge_patch(self._path, {"stringData": values})

    async def load_witness(self) -> AuditWitness:
        """The heads of the service's audit; none yet, or unreadable ones, are none."""
        try:
            data = msgspec.json.decode(await self.client.get(self._path), type=_Secret).data
            return msgspec.json.decode(base64.b64decode(data[_AUDIT]), type=AuditWitness)
        except (NotFoundError, KeyError):
            return AuditWitness()
        except (msgspec.MsgspecError, ValueError) as error:
            log.warning("heads of the audit begun anew", secret=SECRET, reason=str(error))
            return AuditWitness()

    async def save_witness(self, witness: AuditWitness) -> None:
        text = msgspec.json.encode(witness).decode()
        await self.client.merge_patch(self._path, {"stringData": {_AUDIT: text}})

    async def _make(self, now: datetime) -> Keys:
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
        return f"/api/v1/namespaces/{self.namespace}/secrets"

    @property
    def _path(self) -> str:
        return f"{self._collection}/{SECRET}"
