"""TrustWriter: puts and removes certificates, known hosts and public keys in their ConfigMaps.

A text that does not parse as a certificate, as lines of known_hosts or as a public key is refused,
and so is any text with a private key. Entries of other hosts stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import msgspec
import orjson

from agent.bridge.tasks.executors.write_conflicts import repeated_on_conflict
from agent.bridge.tasks.task_context import TaskFailedError
from agent.git.failures import CERTIFICATES
from agent.git.ssh_failures import KNOWN_HOSTS
from agent.kube.client import KubeClient
from agent.kube.errors import NotFoundError
from bus.link import PutArguments
from bus.link.kinds import CERTIFICATE, KEY
from handlers.manifest import access
from handlers.trust.gnupg import public_key
from handlers.trust.hosts import FIELD, certificates_in, with_lines, without
from handlers.trust.signing_trust import KEYS

_NAME = re.compile(r"[A-Za-z0-9._-]{1,253}")

Data = Mapping[str, str]
Change = Callable[[Data], Mapping[str, str | None]]
"""From the data of a ConfigMap to the entries to change; None removes an entry."""


@dataclass(frozen=True, slots=True)
class TrustWriter:
    client: KubeClient
    namespace: str

    async def put(self, args: PutArguments) -> object:
        config_map, change = _put_change(args)
        await self._change(config_map, change)
        return {"configMap": config_map}

    async def delete(self, kind: str, name: str) -> object:
        """`name` is as reported: `https:server`, `ssh:hosts:type`, or the id of a key."""
        config_map, change = _delete_change(kind, name)
        await self._change(config_map, change)
        return {"deleted": True}

    async def _change(self, name: str, change: Change) -> None:
        """Read, change and write the ConfigMap; repeated if somebody else wrote in between."""
        await repeated_on_conflict(f"ConfigMap {name}", lambda: self._change_once(name, change))

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


def _put_change(args: PutArguments) -> tuple[str, Change]:
    """ConfigMap and change of a put. Raises TaskFailedError, which never quotes the text."""
    if "PRIVATE KEY" in args.text:
        raise TaskFailedError("invalid", "text: it holds a private key")
    try:
        if args.kind == KEY.name:
            return KEYS, _entry(_key_id(args), args.text)
        if args.kind != CERTIFICATE.name:
            raise TaskFailedError("unsupported", f"this version puts no {args.kind}")
        if args.type == "ssh":
            with_lines("", args.text)
            return KNOWN_HOSTS, _adding_lines(args.text)
        certificates_in(args.text)
        return CERTIFICATES, _entry(_server_name(args), args.text)
    except ValueError as error:
        raise TaskFailedError("invalid", f"text: {_safe_message(args, error)}") from None


def _delete_change(kind: str, name: str) -> tuple[str, Change]:
    if kind == KEY.name:
        return KEYS, _entry(name, None)
    if kind != CERTIFICATE.name:
        raise TaskFailedError("unsupported", f"this version deletes no {kind}")
    if name.startswith("ssh:"):
        return KNOWN_HOSTS, _removing_host(name)
    return CERTIFICATES, _entry(name.removeprefix("https:"), None)


def _entry(key: str, value: str | None) -> Change:
    if not _NAME.fullmatch(key):
        raise TaskFailedError("invalid", "name: expected letters, digits, dots and dashes")
    return lambda data: {key: value} if value is not None or key in data else {}


def _adding_lines(lines: str) -> Change:
    return lambda data: {FIELD: with_lines(data.get(FIELD, ""), lines)}


def _removing_host(name: str) -> Change:
    return lambda data: {FIELD: without(data.get(FIELD, ""), name)}


def _key_id(args: PutArguments) -> str:
    """The id of the key itself; raises TaskFailedError if `name` is another id."""
    key_id = public_key(args.text).key_id
    if args.name and not key_id.endswith(args.name.upper()):
        raise TaskFailedError("invalid", f"name: the key's id is {key_id}")
    return key_id


def _server_name(args: PutArguments) -> str:
    return args.name or urlsplit(args.url).hostname or args.url


def _safe_message(args: PutArguments, error: ValueError) -> str:
    """A message without the text: the message of a library may quote what it read."""
    https = args.kind == CERTIFICATE.name and args.type != "ssh"
    return "expected a certificate (PEM)" if https else str(error)


def _config_map(name: str, data: Data) -> dict[str, object]:
    labels = {"app.kubernetes.io/part-of": "argocd"}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels},
        "data": data,
    }
