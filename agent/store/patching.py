"""The one write of the Applications store: a merge patch of one object.

What is said of a write goes with it as a note (handlers/tell), so that both are there or neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from agent.kube.client import KubeClient
from bus.identity import AppKey
from handlers.application.application import Application, Metadata
from handlers.application.patch import merge_patch
from handlers.ports import StatusWrite
from handlers.tell.note import ANNOTATION, note_of

_MANAGER = "argocd-controller"


class ApplicationPatches:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def patch_application(self, key: AppKey, patch: Mapping[str, Any]) -> bytes:
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{key.namespace}/applications/{key.name}"
        return await self._client.merge_patch(path, patch, {"fieldManager": _MANAGER})


def status_patch(app: Application, change: StatusWrite, now: datetime) -> dict[str, Any]:
    """The merge patch that makes `app` what `change` says; empty where nothing differs."""
    patch: dict[str, Any] = {}
    before = msgspec.to_builtins(app.status)
    difference = merge_patch(before, msgspec.to_builtins(change.status))
    if difference:
        patch["status"] = difference
    if change.clear_operation and app.operation is not None:
        patch["operation"] = None
    metadata = _metadata_patch(app.metadata, change)
    if note := note_of(change.says, now):
        metadata.setdefault("annotations", {})[ANNOTATION] = note
    if metadata:
        patch["metadata"] = metadata
    return patch


def note_in(patch: Mapping[str, Any]) -> str:
    """What a patch notes of what is to be said; empty where it notes nothing."""
    return str(patch.get("metadata", {}).get("annotations", {}).get(ANNOTATION) or "")


def _metadata_patch(metadata: Metadata, change: StatusWrite) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    gone = [name for name in change.remove_annotations if name in metadata.annotations]
    if gone:
        patch["annotations"] = dict[str, str | None].fromkeys(gone)
    kept = [name for name in metadata.finalizers if name not in change.remove_finalizers]
    if len(kept) < len(metadata.finalizers):
        patch["finalizers"] = kept or None
    return patch
