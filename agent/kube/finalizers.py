"""Finalizers of live objects, taken off one by one.

The patch holds for the version that it was made of; somebody who writes meanwhile costs another
look at the object. An object of another UID, and one that is gone, is left alone.
"""

from __future__ import annotations

from msgspec.structs import replace

from agent.kube.client import KubeClient
from agent.kube.discovery import object_path
from agent.kube.errors import ConflictError, NotFoundError
from agent.kube.live import LiveCluster
from agent.kube.rights import ExplainedRights
from agent.kube.summary import MANAGER, summarise
from handlers.manifest import access
from handlers.ports import ApplyRefusedError, LiveObject

_TRIES = 5


class Finalizers:
    def __init__(self, client: KubeClient, live: LiveCluster, rights: ExplainedRights) -> None:
        self._client = client
        self._live = live
        self._rights = rights

    async def remove(self, live: LiveObject, finalizer: str) -> None:
        """Raises ApplyRefusedError and ClusterUnreachableError; an absent finalizer is no error."""
        known = live
        for _ in range(_TRIES):
            if known.uid != live.uid or finalizer not in access.finalizers(known.manifest):
                return
            try:
                answer = await self._patched(known, finalizer)
            except NotFoundError:
                self._live.index.remove(live)
                return
            except ConflictError:
                known = await self._newest(live)
            except ApplyRefusedError as error:
                raise self._rights.explained(error) from error
            else:
                tracking = self._live.index.tracking.now
                self._live.index.put(summarise(answer, tracking=tracking), ours=True, raw=answer)
                return
        raise ConflictError(
            f"{live.key.kind} {live.key.name} was changed {_TRIES} times while the finalizer "
            f"{finalizer} was taken off; it is tried again",
            code=409,
            permanent=False,
        )

    async def _patched(self, live: LiveObject, finalizer: str) -> bytes:
        """Patch exactly this version; the API server refuses another with a conflict."""
        manifest = live.manifest
        left = [one for one in access.finalizers(manifest) if one != finalizer]
        version = access.resource_version(manifest)
        patch = (
            {"op": "replace", "path": "/metadata/finalizers", "value": left},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
        )
        return await self._client.json_patch(self._path(live), patch, {"fieldManager": MANAGER})

    async def _newest(self, live: LiveObject) -> LiveObject:
        """Read what has the name now; an object that is gone has no UID."""
        try:
            return summarise(
                await self._client.get(self._path(live)),
                whole=True,
                tracking=self._live.index.tracking.now,
            )
        except NotFoundError:
            self._live.index.remove(live)
            return replace(live, uid="")

    def _path(self, live: LiveObject) -> str:
        kind = self._live.kind(live.key.group, live.key.kind)
        if kind is None:
            raise NotFoundError(f"the cluster does not serve {live.key.kind}", code=404)
        return object_path(kind, live.key.namespace, live.key.name, version=live.version)
