"""What runs, and why it is not what is wanted: read from an Application's status. Pure.

The wanted revision is what the target revision means now (`status.sync`); the running one is what
was deployed last (`status.history`). They differ after a rollback, while a sync fails or waits, and
where a commit changed nothing of this application.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bus.status import OperationKind
from service.projection.values import clip, listed, mapping

_FAILED = ("Failed", "Error")
_AUTOMATED = "automated"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """The deployment that runs; `rolled_back` while it is an earlier one than Git wants."""

    revision: str = ""
    since: str = ""
    """RFC 3339, as the agent wrote it; empty where nothing was deployed."""
    by: str = ""
    rolled_back: bool = False


class SyncFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A sync that failed, or fails and is being retried."""

    message: str
    object: str = ""
    """`group/kind/namespace/name` of the first object that was refused; empty where none was."""
    revision: str = ""
    since: str = ""
    retries: int = 0
    retrying: bool = False


def running_of(status: Mapping[str, Any]) -> Running:
    history = [mapping(one) for one in listed(status.get("history"))]
    if not history:
        return Running()
    last = history[-1]
    revision = clip(last.get("revision"), 64)
    by = mapping(last.get("initiatedBy"))
    wanted = clip(mapping(status.get("sync")).get("revision"), 64)
    return Running(
        revision=revision,
        since=clip(last.get("deployedAt"), 40),
        by=_AUTOMATED if by.get("automated") else clip(by.get("username"), 200),
        rolled_back=wanted != revision and _is_return([_revision(one) for one in history]),
    )


def kinds_of(history: Sequence[Mapping[str, Any]]) -> list[OperationKind]:
    """What each deployment was for, by those before it; the oldest first, as they stand."""
    kinds: list[OperationKind] = []
    met: list[str] = []
    """Revisions in the order in which they first ran."""
    last = ""
    for entry in history:
        revision, automated = _revision(entry), mapping(entry.get("initiatedBy")).get("automated")
        if revision not in met:
            met.append(revision)
        kinds.append(
            _kind(automated=bool(automated), same=revision == last, newest=revision == met[-1])
        )
        last = revision
    return kinds


def _kind(*, automated: bool, same: bool, newest: bool) -> OperationKind:
    if automated:
        return OperationKind.SELF_HEAL if same else OperationKind.AUTO_SYNC
    return OperationKind.SYNC if same or newest else OperationKind.ROLLBACK


def sync_failure_of(status: Mapping[str, Any]) -> SyncFailure | None:
    """Of the operation that stands in the status: from its first failure, not its last retry."""
    state = mapping(status.get("operationState"))
    phase, retries = state.get("phase"), state.get("retryCount") or 0
    result = mapping(state.get("syncResult"))
    refused = [
        mapping(one)
        for one in listed(result.get("resources"))
        if mapping(one).get("status") == "SyncFailed" or mapping(one).get("hookPhase") in _FAILED
    ]
    retrying = phase == "Running" and bool(retries or refused)
    if phase not in _FAILED and not retrying:
        return None
    first = next(iter(refused), {})
    return SyncFailure(
        message=clip(first.get("message") or state.get("message") or "The sync failed.", 4000),
        object=_name(first) if first else "",
        revision=clip(result.get("revision"), 64),
        since=clip(state.get("startedAt") or state.get("finishedAt"), 40),
        retries=retries if isinstance(retries, int) else 0,
        retrying=retrying,
    )


def _is_return(revisions: Sequence[str]) -> bool:
    """Whether the last revision was deployed before, and another one in between."""
    last, earlier = revisions[-1], revisions[:-1]
    while earlier and earlier[-1] == last:
        earlier = earlier[:-1]
    return last in earlier


def _revision(entry: Mapping[str, Any]) -> str:
    return clip(entry.get("revision"), 64)


def _name(resource: Mapping[str, Any]) -> str:
    return "/".join(str(resource.get(it) or "") for it in ("group", "kind", "namespace", "name"))
