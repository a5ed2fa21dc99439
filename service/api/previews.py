"""What a sync or a rollback would do, asked of the agent now; nothing is done.

The agent compares the wanted revision with the cluster, rendering it where it is not the current
one, and says of each object what the sync itself would decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bus.link import TaskKind
from service.access.permissions import Permission
from service.api import applications as apps
from service.api.call import Call
from service.api.commands import Rollback, Sync
from service.api.endpoint import Answer, Endpoint, Given, Handler
from service.api.reads import ask, body_of

SYNC = Permission.APPLICATION_SYNC
_WITHIN = 30.0


class Untouched(Answer, frozen=True, kw_only=True):
    key: str
    note: str
    """Why."""


class Preview(Answer, frozen=True, kw_only=True):
    """Objects as `group/kind/namespace/name`."""

    revision: str
    """The commit that was compared."""
    create: list[str]
    change: list[str]
    prune: list[str]
    skip: list[Untouched]
    """Left as they are: no prune was asked for, or it is forbidden for them."""
    refuse: list[Untouched]
    """Not permitted by the project: the sync would fail, and change nothing."""


async def preview_sync(call: Call, given: Sync) -> Preview:
    """What a sync would create, change and prune, at any revision; nothing is done."""
    return await _preview(call, given)


async def preview_rollback(call: Call, given: Rollback) -> Preview:
    """What a rollback to an entry of the history would do; nothing is done."""
    return await _preview(call, given)


async def _preview(call: Call, given: Sync | Rollback) -> Preview:
    row = await apps.find(call, call.id, SYNC)
    arguments = {**msgspec.to_builtins(given), "preview": True}
    ended = await ask(call, row, TaskKind.DIFF, arguments, within=_WITHIN)
    return preview_of(body_of(ended), prune=given.prune)


def preview_of(body: Any, *, prune: bool) -> Preview:
    said = body if isinstance(body, Mapping) else {}
    intents = said["intents"] if "intents" in said else _guessed(said, prune=prune)
    keys: dict[str, list[str]] = {"create": [], "change": [], "prune": []}
    notes: dict[str, list[Untouched]] = {"skip": [], "refuse": []}
    for it in intents:
        action = it["action"]
        if action in keys:
            keys[action].append(it["key"])
        elif action in notes:
            notes[action].append(Untouched(key=it["key"], note=it.get("note", "")))
    return Preview(
        revision=str(said.get("revision") or ""),
        create=keys["create"],
        change=keys["change"],
        prune=keys["prune"],
        skip=notes["skip"],
        refuse=notes["refuse"],
    )


def _guessed(said: Mapping[str, Any], *, prune: bool) -> list[dict[str, Any]]:
    """From the differences alone, as an older agent tells them."""
    made: list[dict[str, Any]] = []
    for it in said.get("objects", []):
        if it.get("live") is None:
            made.append({"key": it["key"], "action": "create"})
        elif it.get("desired") is None:
            made.append({"key": it["key"], "action": "prune" if prune else "skip"})
        elif it.get("modified"):
            made.append({"key": it["key"], "action": "change"})
    return made


def _post(noun: str, handler: Handler, takes: type[Given]) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/applications/{{id}}/{noun}/preview",
        needs=SYNC,
        handler=handler,
        takes=takes,
        gives=Preview,
    )


ENDPOINTS = (
    _post("sync", preview_sync, Sync),
    _post("rollback", preview_rollback, Rollback),
)
