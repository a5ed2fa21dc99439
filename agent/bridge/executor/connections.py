"""Connections: repositories and clusters, as Argo CD keeps them; trusting.py has the rest.

A credential comes sealed to our key, or is taken from a Secret of the control namespace that its
owner has marked with the label `gitops-house.io/credential: "true"`: the service may not name any
Secret it likes. A credential is for one address: another address is another Secret.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import msgspec
import orjson

from agent.bridge.doing import TaskFailedError
from agent.bridge.executor.arguments import Put, SecretRef
from agent.bridge.executor.tools import Tools
from agent.bridge.executor.trusting import Trusting
from agent.bridge.sealed import FIELDS, SealedBoxError, opened
from agent.git.credentials import SECRET_TYPE
from agent.kube.errors import NotFoundError
from bus.identity import normalise_url, token_of
from handlers.manifest import access

USABLE = "gitops-house.io/credential"
_TYPES = {"Repository": "repository", "RepositoryCredentials": "repo-creds", "Cluster": "cluster"}
_SPEC = frozenset({"enableOCI", "insecure", "enableLfs", "forceHttpBasicAuth", "noProxy", "depth"})
_NAME = re.compile(r"[A-Za-z0-9.:_-]{1,253}")


@dataclass(frozen=True, slots=True)
class Connections:
    tools: Tools

    async def put(self, said: Put) -> object:
        if said.kind in _TYPES:
            return await self._put_secret(said)
        return await Trusting(self.tools.client, self.tools.namespace).put(said)

    async def delete(self, kind: str, subject: str) -> object:
        """By `namespace/name` of the Secret, or of what is trusted as it is listed."""
        name = subject.rpartition("/")[2]
        if kind in _TYPES:
            return await self._delete_secret(kind, name)
        return await Trusting(self.tools.client, self.tools.namespace).delete(kind, name)

    async def _put_secret(self, said: Put) -> object:
        address = said.url or str(said.spec.get("server", ""))
        if not address or "@" in urlsplit(address).netloc:
            raise TaskFailedError("invalid", "expected a url without user information")
        name = self._known(said.kind, address) or f"{_TYPES[said.kind]}-{token_of(address)}"
        data = {**_plain(said, address), **await self._credential(said, address)}
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": name, "labels": {SECRET_TYPE: _TYPES[said.kind]}},
            "stringData": data,
        }
        path = f"{self._secrets}/{name}"
        try:
            await self.tools.client.merge_patch(path, body)
        except NotFoundError:
            await self.tools.client.create(self._secrets, orjson.dumps(body))
        return {"namespace": self.tools.namespace, "name": name}

    async def _delete_secret(self, kind: str, name: str) -> object:
        wanted = _TYPES[kind]
        found = [one for one in self.tools.secrets.all() if one.name == name]
        if not found:
            return {"deleted": True}
        if found[0].labels.get(SECRET_TYPE) != wanted:
            raise TaskFailedError("not_allowed", f"Secret {name} is none of kind {kind}")
        await self.tools.client.delete(f"{self._secrets}/{name}")
        return {"deleted": True}

    async def _credential(self, said: Put, address: str) -> Mapping[str, str]:
        if said.sealed and said.secret_ref:
            raise TaskFailedError("invalid", "expected either sealed or secretRef")
        if said.sealed:
            try:
                return opened(said.sealed, self.tools.keys().opening_key, address)
            except SealedBoxError as error:
                raise TaskFailedError("invalid", str(error)) from None
        return await self._referenced(said.secret_ref) if said.secret_ref else {}

    async def _referenced(self, reference: SecretRef) -> Mapping[str, str]:
        space = self.tools.namespace
        if reference.namespace not in ("", space) or not _NAME.fullmatch(reference.name):
            raise TaskFailedError("invalid", f"expected the name of a Secret of {space}")
        raw = await self.tools.client.get(f"{self._secrets}/{reference.name}")
        secret = msgspec.json.decode(raw)
        if access.labels(secret).get(USABLE) != "true":
            text = f"Secret {reference.name} is not for this: its owner must label it {USABLE}=true"
            raise TaskFailedError("not_allowed", text)
        data = access.mapping(secret, "data")
        fields = {"password": data.get(reference.key)} if reference.key else data
        return {name: _decoded(value) for name, value in fields.items() if name in FIELDS and value}

    def _known(self, kind: str, address: str) -> str:
        """The Secret that is for this address already."""
        wanted = normalise_url(address)
        for secret in self.tools.secrets.all():
            said = secret.data.get("url") or secret.data.get("server") or ""
            if secret.labels.get(SECRET_TYPE) == _TYPES[kind] and normalise_url(said) == wanted:
                return secret.name
        return ""

    @property
    def _secrets(self) -> str:
        return f"/api/v1/namespaces/{self.tools.namespace}/secrets"


def _plain(said: Put, address: str) -> dict[str, str]:
    """What is no secret of it."""
    where = "server" if said.kind == "Cluster" else "url"
    data = {where: address, "name": said.name, "type": said.type, "project": said.project}
    settings = {name: _text(said.spec[name]) for name in _SPEC & said.spec.keys()}
    return {name: value for name, value in {**data, **settings}.items() if value}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _decoded(encoded: object) -> str:
    return base64.b64decode(str(encoded)).decode(errors="replace")
