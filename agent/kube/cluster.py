"""KubeCluster writes to the destination cluster, one request a call: port `Cluster`.

Two more requests take over the fields of an earlier tool, once for each object.
The API server's answer goes into the index before the call returns, so that the next comparison
sees our own write and its watch event is no change. An apply without force reports other owners
(ConflictError names manager and fields); the handler decides whether to force it then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from agent.kube.apply_query import ApplyQuery
from agent.kube.client import KubeClient
from agent.kube.discovery import collection_path, object_path
from agent.kube.errors import ConflictError, NotFoundError, discreet, read_status
from agent.kube.finalizers import Finalizers
from agent.kube.live import LiveCluster
from agent.kube.rights import ExplainedRights, ImpersonatedRights, InstalledRights
from agent.kube.summary import MANAGER, summarise
from bus.identity import ResourceKey
from handlers.comparison.earlier_managers import taken_over
from handlers.manifest import access
from handlers.manifest.kinds import KindInfo
from handlers.ports import ApplyOptions, ApplyRefusedError, LiveObject, Manifest

_TRIES = 5
_WRITTEN_BY_US = {"fieldManager": MANAGER}
_UNKNOWN_RIGHTS = InstalledRights()


class KubeCluster:
    """Implements the port Cluster."""

    def __init__(
        self, client: KubeClient, live: LiveCluster, rights: ExplainedRights = _UNKNOWN_RIGHTS
    ) -> None:
        self._client = client
        self._live = live
        self._rights = rights
        self._finalizers = Finalizers(client, live, rights)

    @property
    def live(self) -> LiveCluster:
        return self._live

    def acting_as(self, user: str) -> KubeCluster:
        """Return a writer into the same index whose requests are those of another user."""
        return KubeCluster(self._client.acting_as(user), self._live, ImpersonatedRights(user))

    async def apply(self, manifest: Manifest, options: ApplyOptions) -> LiveObject:
        kind = self._kind(manifest)
        with self._live.index.writing(_key(kind, manifest)):
            answer = await self._sent(kind, manifest, options)
            if _takes_over(manifest, options):
                answer = await self._take_over(kind, manifest, options, answer)
            live = summarise(answer, whole=True, tracking=self._live.index.tracking.now)
            if not options.dry_run:
                self._live.index.put(live, ours=True, raw=answer)
        return live

    async def _take_over(
        self, kind: KindInfo, manifest: Manifest, options: ApplyOptions, answer: bytes
    ) -> bytes:
        """Make earlier tools' fields ours, then apply again, which removes those that Git lacks.

        Our first apply has already said what Git has. A sudden end between the two requests leaves
        the fields ours, so that the next comparison sees them.
        """
        for _ in range(_TRIES):
            live = orjson.loads(answer)
            managed = taken_over(live, options.earlier_manager)
            if managed is None:
                return answer
            with suppress(ConflictError):  # somebody wrote meanwhile: the next answer shows it
                await self._client.json_patch(
                    _path(kind, manifest), _managed_fields_patch(live, managed), _WRITTEN_BY_US
                )
            answer = await self._sent(kind, manifest, options)
        raise ConflictError(
            f"{kind.kind} {access.name(manifest)} was changed {_TRIES} times while the fields of "
            "an earlier manager were taken over; the sync tries it again",
            code=409,
            permanent=False,
        )

    async def _sent(self, kind: KindInfo, manifest: Manifest, options: ApplyOptions) -> bytes:
        try:
            return await self._send(kind, manifest, options)
        except ApplyRefusedError as error:
            # Without its context, which may quote a secret.
            raise self.explained(error, manifest) from None

    async def _send(self, kind: KindInfo, manifest: Manifest, options: ApplyOptions) -> bytes:
        if not access.name(manifest):
            return await self._create(kind, manifest, options)
        if options.replace:
            return await self._replace(kind, manifest, options)
        path = _path(kind, manifest)
        return await self._client.apply(path, _encode(manifest), _how(options))

    async def delete(
        self, live: LiveObject, *, propagation: str = "foreground", at_once: bool = False
    ) -> None:
        """Delete the object; a deleted one, or another of its name, is no error."""
        kind = self._live.kind(live.key.group, live.key.kind)
        if kind is None:
            return
        path = object_path(kind, live.key.namespace, live.key.name)
        try:
            answer = await self._client.delete(
                path, uid=live.uid, propagation=propagation.capitalize(), at_once=at_once
            )
        except NotFoundError:
            self._live.index.remove(live)
            return
        except ApplyRefusedError as error:
            if error.code == 409 and "UID in the precondition" in error.message:
                self._live.index.remove(live)
                return
            raise self._rights.explained(error) from error
        self._write_through(live, answer)

    def explained(self, error: ApplyRefusedError, manifest: Manifest) -> ApplyRefusedError:
        """Say what right is missing, and nothing of the values of a Secret."""
        return self._rights.explained(discreet(error, manifest))

    async def remove_finalizer(self, live: LiveObject, finalizer: str) -> None:
        await self._finalizers.remove(live, finalizer)

    async def read(self, live: LiveObject, version: str) -> LiveObject:
        return summarise(
            await self._get(live, version), whole=True, tracking=self._live.index.tracking.now
        )

    async def managed_fields(self, live: LiveObject) -> tuple[Manifest, ...]:
        found = orjson.loads(await self._get(live, live.version))
        return access.items(found, "metadata", "managedFields")

    async def _get(self, live: LiveObject, version: str) -> bytes:
        kind = self._live.kind(live.key.group, live.key.kind)
        if kind is None:
            raise NotFoundError(f"the cluster does not serve {live.key.kind}", code=404)
        path = object_path(kind, live.key.namespace, live.key.name, version=version)
        return await self._client.get(path)

    async def refresh_kinds(self) -> None:
        await self._live.look()

    def _write_through(self, live: LiveObject, answer: bytes) -> None:
        """Index the answer: only an object with a deletionTimestamp is still there.

        Of some kinds the server returns the object that it has deleted instead of a Status.
        """
        is_object = read_status(answer).kind != "Status"
        last = summarise(answer, tracking=self._live.index.tracking.now) if is_object else None
        if last is not None and last.deleting:
            self._live.index.put(last, ours=True, raw=answer)
        else:
            self._live.index.remove(live)

    async def _create(self, kind: KindInfo, manifest: Manifest, options: ApplyOptions) -> bytes:
        """Create an object with generateName, which has no name to apply to."""
        path = collection_path(kind, access.namespace(manifest), version=access.version(manifest))
        return await self._client.create(path, _encode(manifest), _query(options))

    async def _replace(self, kind: KindInfo, manifest: Manifest, options: ApplyOptions) -> bytes:
        """Replace an indexed object at its version, or the manifest's own; create any other."""
        here = self._live.get(_key(kind, manifest))
        if here is None:
            return await self._create(kind, manifest, options)
        metadata = {
            "resourceVersion": here.resource_version,
            **access.mapping(manifest, "metadata"),
        }
        body = _encode({**manifest, "metadata": metadata})
        return await self._client.replace(_path(kind, manifest), body, _query(options))

    def _kind(self, manifest: Manifest) -> KindInfo:
        group, kind = access.group(manifest), access.kind(manifest)
        found = self._live.kind(group, kind)
        if found is not None:
            return found
        spoken = access.api_version(manifest)
        raise NotFoundError(
            f"the cluster does not serve {kind} of {spoken}: is its definition (CRD) installed?",
            code=404,
            permanent=False,
        )


def _takes_over(manifest: Manifest, options: ApplyOptions) -> bool:
    applied = bool(access.name(manifest)) and not options.replace
    return applied and options.take_over and not options.dry_run


def _managed_fields_patch(
    live: Manifest, managed: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Patch exactly this version of the object; the API server refuses another with a conflict."""
    version = access.resource_version(live)
    return [
        {"op": "replace", "path": "/metadata/managedFields", "value": managed},
        {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
    ]


def _key(kind: KindInfo, manifest: Manifest) -> ResourceKey:
    space = access.namespace(manifest) if kind.namespaced else ""
    return ResourceKey(kind.group, kind.kind, space, access.name(manifest))


def _path(kind: KindInfo, manifest: Manifest) -> str:
    space, name = access.namespace(manifest), access.name(manifest)
    return object_path(kind, space, name, version=access.version(manifest))


def _how(options: ApplyOptions) -> ApplyQuery:
    return ApplyQuery(
        manager=MANAGER,
        force=options.force_conflicts,
        dry_run=options.dry_run,
        validate=options.validate,
    )


def _query(options: ApplyOptions) -> dict[str, str]:
    query: dict[str, Any] = _how(options).query()
    del query["force"]
    return query


def _encode(manifest: Manifest) -> bytes:
    return orjson.dumps(dict(manifest))
