"""Previews of a sync or rollback, computed by the agent; nothing is changed.

The agent compares the revision with the cluster, renders it where it is not the current one, and
tells for each object what the sync itself would decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bus.link import DiffArguments
from service.access.permissions import Permission
from service.api.agent_tasks.task_answers import ask, body_of
from service.api.applications import applications as apps
from service.api.applications.command_requests import RollbackRequest, SyncRequest
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, Handler, RequestModel, ResponseModel

SYNC = Permission.APPLICATION_SYNC
_WITHIN = 30.0


class UntouchedObject(ResponseModel, frozen=True, kw_only=True):
    key: str
    note: str
    """Why."""


class SyncPreview(ResponseModel, frozen=True, kw_only=True):
    """Objects as `group/kind/namespace/name`."""

    revision: str
    """The commit that was compared."""
    create: list[str]
    change: list[str]
    prune: list[str]
    skip: list[UntouchedObject]
    """Left as they are: no prune was asked for, or it is forbidden for them."""
    refuse: list[UntouchedObject]
    """Not permitted by the project: the sync would fail, and change nothing."""


async def preview_sync(call: ApiCall, params: SyncRequest) -> SyncPreview:
    """Preview a sync: what it would create, change and prune, at any revision."""
    return await _preview(call, params)


async def preview_rollback(call: ApiCall, params: RollbackRequest) -> SyncPreview:
    """Preview a rollback to an entry of the deployment history."""
    return await _preview(call, params)


async def _preview(call: ApiCall, params: SyncRequest | RollbackRequest) -> SyncPreview:
    row = await apps.find(call, call.id, SYNC)
    arguments = msgspec.convert(params, DiffArguments, from_attributes=True)
    arguments = msgspec.structs.replace(arguments, preview=True)
    ended = await ask(call, row, arguments, within=_WITHIN)
    return preview_of(body_of(ended), prune=params.prune)


def preview_of(body: Any, *, prune: bool) -> SyncPreview:
    answer = body if isinstance(body, Mapping) else {}
    intents = answer["intents"] if "intents" in answer else _guessed(answer, prune=prune)
    keys: dict[str, list[str]] = {"create": [], "change": [], "prune": []}
    notes: dict[str, list[UntouchedObject]] = {"skip": [], "refuse": []}
    for it in intents:
        action = it["action"]
        if action in keys:
            keys[action].append(it["key"])
        elif action in notes:
            notes[action].append(UntouchedObject(key=it["key"], note=it.get("note", "")))
    return SyncPreview(
        revision=str(answer.get("revision") or ""),
        create=keys["create"],
        change=keys["change"],
        prune=keys["prune"],
        skip=notes["skip"],
        refuse=notes["refuse"],
    )


def _guessed(answer: Mapping[str, Any], *, prune: bool) -> list[dict[str, Any]]:
    """Derive the intents from the differences alone, as an older agent reports them."""
    made: list[dict[str, Any]] = []
    for it in answer.get("objects", []):
        if it.get("live") is None:
            made.append({"key": it["key"], "action": "create"})
        elif it.get("desired") is None:
            made.append({"key": it["key"], "action": "prune" if prune else "skip"})
        elif it.get("modified"):
            made.append({"key": it["key"], "action": "change"})
    return made


def _post(noun: str, handler: Handler, takes: type[RequestModel]) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/applications/{{id}}/{noun}/preview",
        needs=SYNC,
        handler=handler,
        takes=takes,
        gives=SyncPreview,
    )


ENDPOINTS = (
    _post("sync", preview_sync, SyncRequest),
    _post("rollback", preview_rollback, RollbackRequest),
)
