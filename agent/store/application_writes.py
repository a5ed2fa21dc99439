"""Writes to Applications: merge patches of one object, and those whose answer was lost.

The facts of a write are in the same patch, as a journal annotation (handlers/fact_journal), so that
both are stored or neither.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from agent.kube.client import KubeClient
from agent.subscribers import Subscribers
from bus.identity import AppKey
from bus.metadata_keys import COMMANDS, PENDING_FACTS
from handlers.application.application import Application, Metadata
from handlers.application.patch import merge_patch
from handlers.command import with_command
from handlers.fact_journal import journal_annotation
from handlers.ports import StatusWrite
from handlers.sync.operation_info import COMMAND_ID

_MANAGER = "plumbline-agent"
"""Another one than that of applied objects: a child of an app of apps is both."""


class ApplicationPatches:
    def __init__(self, client: KubeClient) -> None:
        self._client = client

    async def patch_application(self, key: AppKey, patch: Mapping[str, Any]) -> bytes:
        path = f"/apis/argoproj.io/v1alpha1/namespaces/{key.namespace}/applications/{key.name}"
        return await self._client.merge_patch(path, patch, {"fieldManager": _MANAGER})


def status_patch(app: Application, change: StatusWrite, now: datetime) -> dict[str, Any]:
    """Make the merge patch that applies `change` to `app`; empty where nothing differs."""
    patch: dict[str, Any] = {}
    before = msgspec.to_builtins(app.status)
    difference = merge_patch(before, msgspec.to_builtins(change.status))
    if difference:
        patch["status"] = difference
    if change.clear_operation and app.operation is not None:
        patch["operation"] = None
    metadata = _metadata_patch(app.metadata, change)
    if entry := journal_annotation(change.events, now):
        metadata.setdefault("annotations", {})[PENDING_FACTS.name] = entry
    if metadata:
        patch["metadata"] = metadata
    return patch


def operation_patch(app: Application, operation: Mapping[str, Any]) -> dict[str, Any]:
    """Make the patch that sets `.operation`, and notes the command that it came by."""
    patch: dict[str, Any] = {"operation": operation}
    info = operation.get("info", ())
    command = next((it["value"] for it in info if it.get("name") == COMMAND_ID), "")
    if command:
        patch["metadata"] = {"annotations": {COMMANDS.name: with_command(app, command)}}
    return patch


def with_own_changes(
    before: Application, after: Application, patch: Mapping[str, Any]
) -> Application:
    """Return `before` with what `patch` wrote; what else differs from `after` is of others."""
    written, metadata = patch.get("metadata", {}), before.metadata
    if "finalizers" in written:
        metadata = msgspec.structs.replace(metadata, finalizers=after.metadata.finalizers)
    if names := written.get("annotations"):
        ours = {name: it for name, it in after.metadata.annotations.items() if name in names}
        others = {name: it for name, it in metadata.annotations.items() if name not in names}
        metadata = msgspec.structs.replace(metadata, annotations={**others, **ours})
    return msgspec.structs.replace(
        before,
        metadata=metadata,
        status=after.status if "status" in patch else before.status,
        operation=after.operation if "operation" in patch else before.operation,
    )


def journal_entry_in(patch: Mapping[str, Any]) -> str:
    """Return the journal annotation of a patch; empty where it has none."""
    return str(patch.get("metadata", {}).get("annotations", {}).get(PENDING_FACTS.name) or "")


def _metadata_patch(metadata: Metadata, change: StatusWrite) -> dict[str, Any]:
    patch: dict[str, Any] = {}
    removed = [name for name in change.remove_annotations if name in metadata.annotations]
    new = {
        name: value
        for name, value in change.annotations.items()
        if metadata.annotations.get(name) != value
    }
    if removed or new:
        patch["annotations"] = dict[str, str | None].fromkeys(removed) | new
    kept = [name for name in metadata.finalizers if name not in change.remove_finalizers]
    kept += [name for name in change.add_finalizers if name not in kept]
    if kept != list(metadata.finalizers):
        patch["finalizers"] = kept or None
    return patch


def version_of(app: Application) -> int:
    """Return the version of this copy, a number that grows with each change; 0 for none."""
    return int(app.metadata.resource_version or 0)


class UnconfirmedWrites:
    """Writes whose answer was lost: the API server may have stored them, or not.

    The handler publishes no fact then, because the write may be lost; and if it was stored, the
    next run finds nothing to do and publishes none either. The journal annotation that went
    with the write (handlers/fact_journal) decides: when the watch brings it, the write was
    stored, and its facts are still to be published.

    Until then our copy of the Application may be older than what is stored, and a decision on
    it would be made for the second time, e.g. to begin an operation. So the next write is
    guarded: it fails where the lost one was stored. That holds also for a write that was decided
    before the watch brought the lost one, and comes after it.
    """

    def __init__(self) -> None:
        self.stored = Subscribers[[Application]]()
        """Called with an Application whose lost write turns out to be stored.

        A standby has no subscriber here: it publishes no facts.
        """
        self._entries: dict[AppKey, str] = {}
        self._shown: dict[AppKey, int] = {}
        """The version with which the watch brought a lost write, until the next answered one."""

    def is_unseen_by(self, app: Application) -> bool:
        """Whether this copy may be older than a write that was stored, or is."""
        return app.key in self._entries or version_of(app) < self._shown.get(app.key, 0)

    def add(self, key: AppKey, entry: str, known: Application | None) -> None:
        """Note a lost answer; `known` is the current object, as the watch may have been quicker."""
        if entry:
            self._entries[key] = entry
        if known is not None:
            self.confirm(known)

    def settle(self, key: AppKey) -> None:
        """Forget the lost write: the facts of a later, answered one cover it."""
        self._entries.pop(key, None)
        self._shown.pop(key, None)

    def confirm(self, app: Application) -> None:
        entry = self._entries.get(app.key)
        if entry is not None and app.metadata.annotations.get(PENDING_FACTS.name) == entry:
            del self._entries[app.key]
            self._shown[app.key] = version_of(app)
            self.stored.notify(app)
