"""write_change sends a checked change of one object to the API server.

New objects are tried first, as a dry run, so that a refused one leaves everything as it is. Then
the patches follow in their order, and then the new objects are created. Each patch names the UID;
the first one also the version that was read, so that nothing is worked out from an older object.
The whole is not atomic: an error says what was done before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from agent.bridge.tasks.live_objects.task_object import TaskObject
from agent.bridge.tasks.task_context import TaskFailedError
from agent.kube.discovery import collection_path
from agent.kube.errors import NotFoundError
from bus.identity import ResourceKey
from handlers.actions.action import ActionChange, ActionChangeKind
from handlers.actions.object_change import LiveObjectChange
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.ports import ApplyRefusedError

MANAGER = "plumbline-live-objects"
"""The field manager, which is not that of syncs: what it writes counts as drift."""
_WRITE = {"fieldManager": MANAGER, "fieldValidation": "Strict"}


async def write_change(found: TaskObject, change: LiveObjectChange) -> tuple[ResourceKey, ...]:
    """Write it, and return the keys of new objects.

    Raises ConflictError, with nothing written, where the object has changed since it was read;
    TaskFailedError where a part was written; ApplyRefusedError and ClusterUnreachableError.
    """
    done: list[str] = []
    created: list[ResourceKey] = []
    try:
        for manifest in change.creates:
            await _create(found, manifest, dry_run=True)
        for patch in change.patches:
            await _patch(found, patch, is_first=not done)
            done.append(f"{found.key} was patched")
        for manifest in change.creates:
            created.append(access.key(await _create(found, manifest)))
            done.append(f"{created[-1]} was created")
    except ApplyRefusedError as refused:
        error = found.explained(refused, change.after, *change.creates)
        if not done:
            raise error from None
        text = f"only a part was done ({'; '.join(done)}), then: {error.message}"
        raise TaskFailedError("failed", text) from None
    return tuple(created)


async def _patch(found: TaskObject, patch: ActionChange, *, is_first: bool) -> None:
    content = _guarded(patch.content, found, is_first=is_first)
    client = found.client
    if patch.kind is ActionChangeKind.PATCH_STATUS:
        try:
            await client.merge_patch(f"{found.path}/status", content, _WRITE)
        except NotFoundError:  # the kind has no status subresource: it is a field like others
            await client.merge_patch(found.path, content, _WRITE)
    else:
        await client.merge_patch(found.path, content, _WRITE)


def _guarded(patch: Mapping[str, Any], found: TaskObject, *, is_first: bool) -> Mapping[str, Any]:
    identity = {"uid": found.uid}
    if is_first:
        identity["resourceVersion"] = access.resource_version(found.manifest)
    return {**patch, "metadata": {**access.mapping(patch, "metadata"), **identity}}


async def _create(found: TaskObject, manifest: Manifest, *, dry_run: bool = False) -> Manifest:
    kind = found.session.live.kind(access.group(manifest), access.kind(manifest))
    if kind is None:
        text = f"the cluster does not serve {access.kind(manifest)}"
        raise TaskFailedError("not_found", text)
    space = access.namespace(manifest)
    path = collection_path(kind, space, version=access.version(manifest))
    query = {**_WRITE, **({"dryRun": "All"} if dry_run else {})}
    body = await found.client.create(path, orjson.dumps(dict(manifest)), query)
    made: dict[str, Any] = orjson.loads(body)
    return made
