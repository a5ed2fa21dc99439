"""Reading an Application's status: what runs, why it is not what is desired, who has to act.

The desired revision is what the target revision means now (`status.sync`); the running one is what
was deployed last (`status.history`). They differ after a rollback, while a sync fails or waits, and
where a commit changed nothing of this application.

Attention says for which reason first an application needs a person. The order is that of urgency:
an application that cannot be read is not known to be well at all; a failing sync keeps the desired
state out; ill health is what users of the application feel. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from bus.link import StateBody
from bus.status import ConditionType, OperationKind
from service.projection.batch import clip, listed, mapping

_FAILED = ("Failed", "Error")
_AUTOMATED = "automated"
_UNREADABLE = (
    ConditionType.INVALID_SPEC_ERROR,
    ConditionType.COMPARISON_ERROR,
    ConditionType.UNKNOWN_ERROR,
    ConditionType.DELETION_ERROR,
)


class RunningRevision(msgspec.Struct, frozen=True, kw_only=True):
    """The deployment that runs; `rolled_back` while its revision is older than the desired one."""

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


def running_of(status: Mapping[str, Any]) -> RunningRevision:
    history = [mapping(one) for one in listed(status.get("history"))]
    if not history:
        return RunningRevision()
    last = history[-1]
    by = mapping(last.get("initiatedBy"))
    target = _revisions(mapping(status.get("sync")))
    return RunningRevision(
        revision=main_revision(last),
        since=clip(last.get("deployedAt"), 40),
        by=_AUTOMATED if by.get("automated") else clip(by.get("username"), 200),
        rolled_back=target != _revisions(last) and _is_return([_revisions(it) for it in history]),
    )


def kinds_of(history: Sequence[Mapping[str, Any]]) -> list[OperationKind]:
    """Name the kind of each deployment by those before it, the oldest first."""
    kinds: list[OperationKind] = []
    met: list[tuple[str, ...]] = []
    """Revisions in the order in which they first ran."""
    last: tuple[str, ...] = ()
    for entry in history:
        revision, automated = _revisions(entry), mapping(entry.get("initiatedBy")).get("automated")
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
    """Read the failed sync of the operation: from its first failure, not its last retry."""
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
        revision=main_revision(result),
        since=clip(state.get("startedAt") or state.get("finishedAt"), 40),
        retries=retries if isinstance(retries, int) else 0,
        retrying=retrying,
    )


def _is_return(revisions: Sequence[tuple[str, ...]]) -> bool:
    """Tell whether the last revision was deployed before, and another one in between."""
    last, earlier = revisions[-1], revisions[:-1]
    while earlier and earlier[-1] == last:
        earlier = earlier[:-1]
    return last in earlier


def main_source(sources: Sequence[Any]) -> int:
    """Find the place of the first source that renders, by which people know an application."""
    found = (place for place, it in enumerate(sources) if _renders(mapping(it)))
    return next(found, 0)


def main_revision(deployed: Mapping[str, Any]) -> str:
    """Read the revision of a deployment; of several sources, that of the first that renders."""
    revisions = _revisions(deployed)
    place = main_source(listed(deployed.get("sources")))
    return revisions[place] if place < len(revisions) else ""


def _renders(source: Mapping[str, Any]) -> bool:
    return bool(source.get("path") or source.get("chart"))


def _revisions(deployed: Mapping[str, Any]) -> tuple[str, ...]:
    """Read the revisions of a deployment, one for each source; none where there are none."""
    several = tuple(clip(it, 64) for it in listed(deployed.get("revisions")))
    return several or ((one,) if (one := clip(deployed.get("revision"), 64)) else ())


def _name(resource: Mapping[str, Any]) -> str:
    return "/".join(str(resource.get(it) or "") for it in ("group", "kind", "namespace", "name"))


class Attention(StrEnum):
    """The reason for which an application needs a person; `NONE`: it needs nobody."""

    DEGRADED = "Degraded"
    UNREADABLE = "Unreadable"
    """Its spec is invalid, or its source cannot be read or rendered."""
    SYNC_FAILED = "SyncFailed"
    """The last sync failed, or fails and is being retried."""
    MISSING = "Missing"
    STUCK = "Stuck"
    """Progressing, and an object of it is degraded: it will not become healthy by waiting."""
    OUT_OF_SYNC = "OutOfSync"
    """It differs from Git, and auto-sync is off or held."""
    NONE = ""


def attention_of(body: StateBody, failure: SyncFailure | None, *, automated: bool) -> Attention:
    """Find the first attention that holds, in their order."""
    status, cause = body.status, body.cause
    health = mapping(status.get("health")).get("status")
    sync = mapping(status.get("sync")).get("status")
    stuck = health == "Progressing" and cause is not None and cause.health == "Degraded"
    waits = not automated or bool(held_condition(status))
    reasons = (
        (Attention.DEGRADED, health == "Degraded"),
        (Attention.UNREADABLE, bool(unreadable_condition(status))),
        (Attention.SYNC_FAILED, failure is not None),
        (Attention.MISSING, health == "Missing"),
        (Attention.STUCK, stuck),
        (
            Attention.OUT_OF_SYNC,
            sync == "OutOfSync" and waits,
        ),
    )
    return next((attention for attention, holds in reasons if holds), Attention.NONE)


def unreadable_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Find the first condition that makes an application unreadable; empty where there is none."""
    return _condition(status, _UNREADABLE)


def held_condition(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """Find the first condition for which automated syncs wait for a person; empty where none do."""
    return _condition(status, (ConditionType.AUTO_SYNC_HELD_WARNING,))


def _condition(status: Mapping[str, Any], types: Collection[str]) -> Mapping[str, Any]:
    found = (mapping(one) for one in listed(status.get("conditions")))
    return next((one for one in found if one.get("type") in types), {})
