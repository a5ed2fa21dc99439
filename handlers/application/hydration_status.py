"""`status.sourceHydrator` and the condition that follows from it. Pure.

An attempt that failed as the one before keeps its times, so that nothing is written for it, and
`startedAt` says since when it has been failing.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec.structs import replace

from bus.identity import NO_REVISION, Revision
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import HYDRATE_ANNOTATION, Application
from handlers.application.failure_wait import LONGEST_WAIT, SHORTEST_WAIT
from handlers.application.spec import SourceHydrator
from handlers.application.status import (
    ApplicationStatus,
    Condition,
    HydrateOperation,
    SuccessfulHydrateOperation,
)

HYDRATED, FAILED = "Hydrated", "Failed"


class Hydration(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one attempt for one Application."""

    phase: str
    message: str = ""
    dry: Revision = NO_REVISION
    hydrated: Revision = NO_REVISION


def is_hydrated(app: Application, dry: Revision) -> bool:
    """Whether the manifests of a dry commit are in the branch, and nobody asks to look again."""
    last = app.status.source_hydrator.current_operation
    return (
        last is not None
        and last.phase == HYDRATED
        and last.dry_sha == dry
        and last.source_hydrator == app.spec.source_hydrator
        and HYDRATE_ANNOTATION not in app.metadata.annotations
    )


def has_written(app: Application, dry: Revision) -> bool:
    """Whether a dry commit is the one that was last written by this hydrator itself."""
    last = app.status.source_hydrator.last_successful_operation
    if last is None or last.source_hydrator != app.spec.source_hydrator:
        return False
    return dry == last.hydrated_sha != last.dry_sha


def with_hydration(app: Application, result: Hydration, now: str) -> ApplicationStatus:
    """The status after an attempt; the same one where the last attempt ended alike."""
    hydrator = app.spec.source_hydrator or SourceHydrator()
    last = app.status.source_hydrator.current_operation
    operation = HydrateOperation(
        started_at=now,
        finished_at=now,
        phase=result.phase,
        message=result.message,
        dry_sha=result.dry,
        hydrated_sha=result.hydrated,
        source_hydrator=hydrator,
    )
    if last is not None:
        timed = replace(operation, started_at=last.started_at, finished_at=last.finished_at)
        operation = last if last == timed else operation
    known = replace(app.status.source_hydrator, current_operation=operation)
    if result.phase == HYDRATED:
        success = SuccessfulHydrateOperation(
            dry_sha=result.dry, hydrated_sha=result.hydrated, source_hydrator=hydrator
        )
        known = replace(known, last_successful_operation=success)
    return replace(app.status, source_hydrator=known)


def hydration_conditions(app: Application) -> tuple[Condition, ...]:
    """Make the condition, without a time, of an Application that cannot be hydrated."""
    last = app.status.source_hydrator.current_operation
    if last is None or last.phase != FAILED or last.source_hydrator != app.spec.source_hydrator:
        return ()
    return (Condition(type=ConditionType.HYDRATION_ERROR, message=last.message),)


def next_try(status: ApplicationStatus, now: datetime) -> float:
    """Seconds until the next try: as long as it has been failing alike, within bounds."""
    last = status.source_hydrator.current_operation
    failing = times.since(last.started_at, now) if last is not None else None
    return min(max(failing or 0.0, SHORTEST_WAIT), LONGEST_WAIT)
