"""Connections: repositories and clusters, as Argo CD keeps them; trusting.py has the rest.

A credential comes sealed to our key, or is taken from a Secret of the control namespace that its
owner has marked with the label `gitops-house.io/credential: "true"` and, in the annotation
`gitops-house.io/credential-urls`, with the addresses that it may be used for, each with all below
it: the service may not name any Secret it likes, nor have one sent wherever it likes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import orjson

from agent.bridge.doing import TaskFailedError
from agent.bridge.executor.arguments import Put, SecretRef
from agent.bridge.executor.connection_secret import (
    TYPES,
    Identity,
    canonical_address,
    covers,
    written,
)
from agent.bridge.executor.tools import Tools
from agent.bridge.executor.trusting import Trusting
from agent.bridge.sealed import FIELDS, SealedBoxError, opened
from agent.git.credentials import SECRET_TYPE
from agent.kube.errors import NotFoundError
from bus.identity import token_of
from handlers.manifest import access

USABLE = "gitops-house.io/credential"
USABLE_FOR = "gitops-house.io/credential-urls"
_NAME = re.compile(r"[A-Za-z0-9.:_-]{1,253}")


@dataclass(frozen=True, slots=True)
class Connections:
    tools: Tools

    async def put(self, said: Put) -> object:
        if said.kind in TYPES:
            return await self._put_secret(said)
        return await Trusting(self.tools.client, self.tools.namespace).put(said)

    async def delete(self, kind: str, subject: str) -> object:
        """By `namespace/name` of the Secret, or of what is trusted as it is listed."""
        name = subject.rpartition("/")[2]
        if kind in TYPES:
            return await self._delete_secret(kind, name)
        return await Trusting(self.tools.client, self.tools.namespace).delete(kind, name)

    async def _put_secret(self, said: Put) -> object:
        identity = Identity.of(said)
        credential = await self._credential(said, identity)
        known = self._known(identity)
        name = known or f"{TYPES[said.kind]}-{token_of(identity.text)}"
        live = await self._live(name)
        if live is None:
            body = _secret(name, identity, written({}, said, identity, credential))
            await self.tools.client.create(self._secrets, orjson.dumps(body))
        else:
            body = _changed(live, said, identity, credential)
            await self.tools.client.replace(f"{self._secrets}/{name}", orjson.dumps(body))
        return {"namespace": self.tools.namespace, "name": name}

    async def _live(self, name: str) -> dict[str, Any] | None:
        """As the API server has it: what the watch told may be older."""
        try:
            raw = await self.tools.client.get(f"{self._secrets}/{name}")
        except NotFoundError:
            return None
        found: dict[str, Any] = msgspec.json.decode(raw)
        return found

    async def _delete_secret(self, kind: str, name: str) -> object:
        wanted = TYPES[kind]
        found = [one for one in self.tools.secrets.all() if one.name == name]
        if not found:
            return {"deleted": True}
        if found[0].labels.get(SECRET_TYPE) != wanted:
            raise TaskFailedError("not_allowed", f"Secret {name} is none of kind {kind}")
        await self.tools.client.delete(f"{self._secrets}/{name}")
        return {"deleted": True}

    async def _credential(self, said: Put, identity: Identity) -> Mapping[str, str]:
        if said.sealed and said.secret_ref:
            raise TaskFailedError("invalid", "expected either sealed or secretRef")
        if not said.sealed:
            return await self._referenced(said.secret_ref, identity) if said.secret_ref else {}
        canonical = partial(canonical_address, said.kind)
        try:
            key = self.tools.keys().opening_key
            return opened(said.sealed, key, identity.address, canonical)
        except SealedBoxError as error:
            raise TaskFailedError("invalid", str(error)) from None

    async def _referenced(self, reference: SecretRef, identity: Identity) -> Mapping[str, str]:
        space = self.tools.namespace
        if reference.namespace not in ("", space) or not _NAME.fullmatch(reference.name):
            raise TaskFailedError("invalid", f"expected the name of a Secret of {space}")
        raw = await self.tools.client.get(f"{self._secrets}/{reference.name}")
        secret = msgspec.json.decode(raw)
        _check_usable(secret, identity)
        values = _decoded(secret)
        fields = {"password": values.get(reference.key)} if reference.key else values
        return {name: value for name, value in fields.items() if name in FIELDS and value}

    def _known(self, identity: Identity) -> str:
        """The Secret of this connection, as the watch told of it."""
        for secret in self.tools.secrets.all():
            if identity.is_of(secret.labels, secret.data):
                return secret.name
        return ""

    @property
    def _secrets(self) -> str:
        return f"/api/v1/namespaces/{self.tools.namespace}/secrets"


def _check_usable(secret: Mapping[str, Any], identity: Identity) -> None:
    name = access.name(secret)
    if access.labels(secret).get(USABLE) != "true":
        text = f"Secret {name} is not for this: its owner must label it {USABLE}=true"
        raise TaskFailedError("not_allowed", text)
    places = access.annotations(secret).get(USABLE_FOR, "").replace(",", " ").split()
    if not any(covers(identity.kind, place, identity.address) for place in places):
        text = (
            f"Secret {name} is not for {identity.address}: its owner must name that address,"
            f" or one above it, in its annotation {USABLE_FOR}"
        )
        raise TaskFailedError("not_allowed", text)


def _changed(
    live: dict[str, Any], said: Put, identity: Identity, credential: Mapping[str, str]
) -> dict[str, Any]:
    """The whole Secret, in the version that was read; TaskFailedError."""
    values = _decoded(live)
    if not identity.is_of(access.labels(live), values):
        text = f"Secret {access.name(live)} is of another connection: delete or rename it first"
        raise TaskFailedError("conflict", text)
    data = written(values, said, identity, credential)
    return {**live, "data": _encoded(data)}


def _secret(name: str, identity: Identity, data: Mapping[str, str]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "labels": {SECRET_TYPE: TYPES[identity.kind]}},
        "data": _encoded(data),
    }


def _decoded(secret: Mapping[str, Any]) -> dict[str, str]:
    data = access.mapping(secret, "data")
    return {name: base64.b64decode(str(it)).decode(errors="replace") for name, it in data.items()}


def _encoded(data: Mapping[str, str]) -> dict[str, str]:
    return {name: base64.b64encode(value.encode()).decode() for name, value in data.items()}
