"""Trusting: certificates, known hosts and public keys, put into and taken out of their ConfigMaps.

What is written was read first: a text that is no certificate, no line of known_hosts or no public
key is refused, and so is whatever holds something private. Lines of other hosts stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import orjson

from agent.bridge.doing import TaskFailedError
from agent.bridge.executor.arguments import Put
from agent.bridge.trust import CERTIFICATES, HOSTS, KEYS
from agent.kube.client import KubeClient
from agent.kube.errors import ConflictError, NotFoundError
from handlers.manifest import access
from handlers.trust.certificates import certificates_in
from handlers.trust.gnupg import public_key
from handlers.trust.known_hosts import FIELD, with_lines, without
from handlers.trust.trusted import CERTIFICATE, KEY

_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")
_TRIES = 5

Data = Mapping[str, str]
Change = Callable[[Data], Mapping[str, str | None]]
"""What a ConfigMap holds -> what is to be other there; None takes an entry out."""


@dataclass(frozen=True, slots=True)
class Trusting:
    client: KubeClient
    namespace: str

    async def put(self, said: Put) -> object:
        config_map, change = _wanted(said)
        await self._change(config_map, change)
        return {"configMap": config_map}

    async def delete(self, kind: str, name: str) -> object:
        """`name` as it is listed: `https:server`, `ssh:hosts:type`, or the id of a key."""
        config_map, change = _unwanted(kind, name)
        await self._change(config_map, change)
        return {"deleted": True}

    async def _change(self, name: str, change: Change) -> None:
        """Reads, changes and writes what was read; again where somebody else wrote meanwhile."""
        for _ in range(_TRIES):
            try:
                return await self._change_once(name, change)
            except ConflictError:
                continue
        raise TaskFailedError("conflict", f"ConfigMap {name} is changed by others all the time")

    async def _change_once(self, name: str, change: Change) -> None:
        path = f"/api/v1/namespaces/{self.namespace}/configmaps"
        try:
            found = msgspec.json.decode(await self.client.get(f"{path}/{name}"))
        except NotFoundError:
            data = {key: value for key, value in change({}).items() if value}
            if data:
                await self.client.create(path, orjson.dumps(_config_map(name, data)))
            return
        patch = {
            "metadata": {"resourceVersion": access.resource_version(found)},
            "data": change(access.mapping(found, "data")),
        }
        await self.client.merge_patch(f"{path}/{name}", patch)


def _wanted(said: Put) -> tuple[str, Change]:
    """Raises TaskFailedError, whose words quote nothing of the text."""
    if "PRIVATE KEY" in said.text:
        raise TaskFailedError("invalid", "text: it holds a private key")
    try:
        if said.kind == KEY:
            return KEYS, _entry(_key_id(said), said.text)
        if said.kind != CERTIFICATE:
            raise TaskFailedError("unsupported", f"this version puts no {said.kind}")
        if said.type == "ssh":
            with_lines("", said.text)
            return HOSTS, _adding(said.text)
        certificates_in(said.text)
        return CERTIFICATES, _entry(_server(said), said.text)
    except ValueError as error:
        raise TaskFailedError("invalid", f"text: {_plain(said, error)}") from None


def _unwanted(kind: str, name: str) -> tuple[str, Change]:
    if kind == KEY:
        return KEYS, _entry(name, None)
    if kind != CERTIFICATE:
        raise TaskFailedError("unsupported", f"this version deletes no {kind}")
    if name.startswith("ssh:"):
        return HOSTS, _removing(name)
    return CERTIFICATES, _entry(name.removeprefix("https:"), None)


def _entry(key: str, value: str | None) -> Change:
    if not _NAME.fullmatch(key):
        raise TaskFailedError("invalid", "name: expected letters, digits, dots and dashes")
    return lambda data: {key: value} if value is not None or key in data else {}


def _adding(lines: str) -> Change:
    return lambda data: {FIELD: with_lines(data.get(FIELD, ""), lines)}


def _removing(name: str) -> Change:
    return lambda data: {FIELD: without(data.get(FIELD, ""), name)}


def _key_id(said: Put) -> str:
    """Of the key itself; a name that says another one is a mistake of somebody."""
    key_id = public_key(said.text).key_id
    if said.name and not key_id.endswith(said.name.upper()):
        raise TaskFailedError("invalid", f"name: the key's id is {key_id}")
    return key_id


def _server(said: Put) -> str:
    return said.name or urlsplit(said.url).hostname or said.url


def _plain(said: Put, error: ValueError) -> str:
    """The words of a library may quote what it read."""
    https = said.kind == CERTIFICATE and said.type != "ssh"
    return "expected a certificate (PEM)" if https else str(error)


def _config_map(name: str, data: Data) -> dict[str, object]:
    labels = {"app.kubernetes.io/part-of": "argocd"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels},
        "data": data,
    }
