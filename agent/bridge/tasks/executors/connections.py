"""ConnectionWriter: puts and deletes repositories, clusters and trusted certificates and keys.

A credential comes sealed to our key, or is taken from a Secret of the control namespace that its
owner has marked with the label `plumbline.dev/credential: "true"` and, in the annotation
`plumbline.dev/credential-urls`, with the addresses that it may be used for, each with all below
it: the service may not name any Secret it likes, nor have one sent wherever it likes.
"""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec
import orjson

from agent.bridge.identity.key_store import LinkKeys
from agent.bridge.identity.sealed_box import FIELDS, SealedBoxError, opened
from agent.bridge.tasks.executors.connection_secret import (
    TYPES,
    ConnectionIdentity,
    canonical_address,
    check_login_replaceable,
    covers,
    written,
)
from agent.bridge.tasks.executors.known_clusters import KnownClusters
from agent.bridge.tasks.executors.preconditions import check_seen
from agent.bridge.tasks.executors.trust_changes import TrustWriter
from agent.bridge.tasks.task_context import TaskFailedError
from agent.git.credentials import SECRET_TYPE, Secret
from agent.kube.client import KubeClient
from agent.kube.core_api import secrets_path
from agent.kube.errors import NotFoundError
from agent.kube.list_watch import pages
from agent.kube.request_path import is_object_name
from agent.store.argo_secrets import ArgoSecrets, read_secret
from bus.identity import token_of
from bus.link import LinkTask, PutArguments, SecretRef
from bus.link.kinds import CLUSTER
from bus.metadata_keys import CREDENTIAL, CREDENTIAL_URLS
from handlers.control_plane.governance import GOVERNED, marked
from handlers.manifest import access


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionWriter:
    client: KubeClient
    secrets: ArgoSecrets
    keys: Callable[[], LinkKeys]
    trust: TrustWriter
    clusters: Callable[[], KnownClusters]
    """What puts and deletions of clusters are held against."""
    namespace: str
    """The control namespace."""
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """One put of a cluster at a time: each is held against what the one before it has made."""

    async def put(self, args: PutArguments) -> object:
        if args.kind == CLUSTER.name:
            async with self._turn:
                return await self._put_secret(args)
        if args.kind in TYPES:
            return await self._put_secret(args)
        return await self.trust.put(args)

    async def delete(self, task: LinkTask, kind: str, name: str) -> object:
        """`name` is that of the Secret, or of a trusted entry as reported."""
        if kind in TYPES:
            return await self._delete_secret(task, kind, name)
        return await self.trust.delete(kind, name)

    async def _put_secret(self, args: PutArguments) -> object:
        identity = ConnectionIdentity.of(args)
        is_cluster = args.kind == CLUSTER.name
        if is_cluster:
            self.clusters().check_server(identity.address)
        credential = await self._credential(args, identity)
        known = self._known(identity)
        name = known or name_of(identity)
        live = await self._live(name)
        if live is None:
            if is_cluster:
                there = replace(self.clusters(), secrets=await self._cluster_secrets())
                there.check_new(identity.address, args.name)
            body = _secret(name, identity, written({}, args, identity, credential))
            await self.client.create(self._secrets, orjson.dumps(marked(body)))
        else:
            body = changed(live, args, identity, credential)
            await self.client.replace(f"{self._secrets}/{name}", orjson.dumps(body))
        return {"namespace": self.namespace, "name": name}

    async def _cluster_secrets(self) -> tuple[Secret, ...]:
        """Read the Secrets of clusters from the API server: the index lacks one just made."""
        query = {"labelSelector": f"{SECRET_TYPE}={TYPES[CLUSTER.name]}"}
        found = [
            read_secret(bytes(raw))
            async for page in pages(self.client, self._secrets, query)
            for raw in page.items or ()
        ]
        return tuple(found)

    async def _live(self, name: str) -> dict[str, Any] | None:
        """Read the Secret from the API server: the index of the watch may be older."""
        try:
            raw = await self.client.get(f"{self._secrets}/{name}")
        except NotFoundError:
            return None
        found: dict[str, Any] = msgspec.json.decode(raw)
        return found

    async def _delete_secret(self, task: LinkTask, kind: str, name: str) -> object:
        """Judge the Secret as the API server has it, and delete what was judged and seen."""
        secret_type = TYPES[kind]
        found = [one for one in self.secrets.all() if one.name == name]
        if not found:
            return {"deleted": True}
        live = await self._live(name)
        if live is None:
            return {"deleted": True}
        if access.labels(live).get(SECRET_TYPE) != secret_type:
            raise TaskFailedError("not_allowed", f"Secret {name} does not describe a {kind}")
        if kind == CLUSTER.name:
            over_link = GOVERNED in access.annotations(live)
            self.clusters().check_deletion(name, _decoded(live), over_link=over_link)
        check_seen(task, live)
        await self.client.delete(
            f"{self._secrets}/{name}",
            uid=access.uid(live),
            resource_version=access.resource_version(live),
        )
        return {"deleted": True}

    async def _credential(
        self, args: PutArguments, identity: ConnectionIdentity
    ) -> Mapping[str, str]:
        if args.sealed and args.secret_ref:
            raise TaskFailedError("invalid", "expected either sealed or secretRef")
        if not args.sealed:
            return await self._referenced(args.secret_ref, identity) if args.secret_ref else {}
        canonical = partial(canonical_address, args.kind)
        try:
            key = self.keys().opening_key
            return opened(args.sealed, key, identity.address, canonical)
        except SealedBoxError as error:
            raise TaskFailedError("invalid", str(error)) from None

    async def _referenced(
        self, reference: SecretRef, identity: ConnectionIdentity
    ) -> Mapping[str, str]:
        namespace = self.namespace
        if reference.namespace not in ("", namespace) or not is_object_name(reference.name):
            raise TaskFailedError("invalid", f"expected the name of a Secret of {namespace}")
        raw = await self.client.get(f"{self._secrets}/{reference.name}")
        secret = msgspec.json.decode(raw)
        _check_usable(secret, identity)
        values = _decoded(secret)
        fields = {"password": values.get(reference.key)} if reference.key else values
        return {name: value for name, value in fields.items() if name in FIELDS and value}

    def _known(self, identity: ConnectionIdentity) -> str:
        """The name of the connection's Secret, from the index; empty if there is none."""
        for secret in self.secrets.all():
            if identity.matches(secret.labels, secret.data):
                return secret.name
        return ""

    @property
    def _secrets(self) -> str:
        return secrets_path(self.namespace)


def name_of(identity: ConnectionIdentity) -> str:
    """Name the Secret that is made for a connection over the link."""
    return f"{TYPES[identity.kind]}-{token_of(identity.text)}"


def _check_usable(secret: Mapping[str, Any], identity: ConnectionIdentity) -> None:
    name = access.name(secret)
    if CREDENTIAL.value(access.labels(secret)) != "true":
        text = f"Secret {name} may not be used: its owner must label it {CREDENTIAL.name}=true"
        raise TaskFailedError("not_allowed", text)
    addresses = CREDENTIAL_URLS.value(access.annotations(secret)).replace(",", " ").split()
    if not any(covers(identity.kind, permitted, identity.address) for permitted in addresses):
        text = (
            f"Secret {name} is not for {identity.address}: its owner must name that address,"
            f" or one above it, in its annotation {CREDENTIAL_URLS.name}"
        )
        raise TaskFailedError("not_allowed", text)


def changed(
    live: dict[str, Any],
    args: PutArguments,
    identity: ConnectionIdentity,
    credential: Mapping[str, str],
) -> dict[str, Any]:
    """The changed Secret, with the resourceVersion that was read. Raises TaskFailedError.

    One that an earlier version made gets its mark. A cluster's does not: the mark would let the
    link replace its login and delete it.
    """
    values = _decoded(live)
    if not identity.matches(access.labels(live), values):
        text = f"Secret {access.name(live)} describes another connection: delete or rename it first"
        raise TaskFailedError("conflict", text)
    if credential and identity.kind == CLUSTER.name:
        check_login_replaceable(values, over_link=GOVERNED in access.annotations(live))
    data = written(values, args, identity, credential)
    body = {**live, "data": _encoded(data)}
    was_made_here = access.name(live) == name_of(identity) and identity.kind != CLUSTER.name
    return marked(body) if was_made_here else body


def _secret(name: str, identity: ConnectionIdentity, data: Mapping[str, str]) -> dict[str, Any]:
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
