"""The conditions of an Application that follow from a comparison. Pure."""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from bus.status import ConditionType, SyncStatus
from handlers.application.application import Application, AppProject
from handlers.application.policy import auto_sync
from handlers.application.status import Condition
from handlers.application.sync_windows import windows_of
from handlers.application.unsupported import conditions_of
from handlers.application.unsupported_fields import unsupported
from handlers.comparison.comparison import Comparison
from handlers.comparison.orphaned_resources import warns

OBSERVED = (
    ConditionType.SYNC_ERROR,
    ConditionType.SHARED_RESOURCE_WARNING,
    ConditionType.UNSUPPORTED_FIELD_WARNING,
    ConditionType.AUTO_SYNC_HELD_WARNING,
    ConditionType.SYNC_WINDOW_WARNING,
    ConditionType.EXCLUDED_RESOURCE_WARNING,
    ConditionType.IGNORE_RULE_WARNING,
    ConditionType.PRUNE_HELD_WARNING,
    ConditionType.ORPHANED_RESOURCE_WARNING,
)
"""The types of conditions that follow from a comparison: what is not found any more, goes."""
_MOST_OF_OBJECTS = 20


def observed_conditions(
    app: Application,
    project: AppProject | None,
    comparison: Comparison,
    now: datetime,
    error: str,
) -> tuple[Condition, ...]:
    """List the conditions; `error` is what keeps the application from being synced."""
    return (
        *_listed(_shared(comparison)),
        *_unsupported(app, project, comparison),
        *_closed_window(app, project, comparison, now),
        *_listed(_excluded(comparison)),
        *_rule_problems(comparison),
        *_unseen(comparison),
        *_orphaned(project, comparison),
        *_error(error),
    )


def _unsupported(
    app: Application, project: AppProject | None, comparison: Comparison
) -> tuple[Condition, ...]:
    found = (*unsupported(app, project, comparison.annotated), *comparison.held_by_settings)
    overridden = (
        Condition(type=ConditionType.UNSUPPORTED_FIELD_WARNING, message=one)
        for one in comparison.record.unsupported
    )
    return (*conditions_of(app, found), *overridden)


def _closed_window(
    app: Application, project: AppProject | None, comparison: Comparison, now: datetime
) -> tuple[Condition, ...]:
    if comparison.status is not SyncStatus.OUT_OF_SYNC or auto_sync(app.spec) is None:
        return ()
    problem = windows_of(app, project, comparison.cluster).problem(now, by_hand=False)
    if not problem:
        return ()
    message = f"automated sync waits: {problem}"
    return (Condition(type=ConditionType.SYNC_WINDOW_WARNING, message=message),)


def _shared(comparison: Comparison) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type=ConditionType.SHARED_RESOURCE_WARNING,
            message=(
                f"{one.key.kind} {one.key.name} is part of this application and of "
                f"{one.resource.shared_with}; both apply it, remove it from one of them"
            ),
        )
        for one in comparison.pairs
        if one.resource.shared_with
    )


def _listed(found: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Bound conditions of which each is about one object: a status has room for few of them."""
    more = len(found) - _MOST_OF_OBJECTS
    if more <= 0:
        return found
    first = found[:_MOST_OF_OBJECTS]
    return (*first, replace(first[0], message=f"and {more} more objects likewise"))


def _excluded(comparison: Comparison) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type=ConditionType.EXCLUDED_RESOURCE_WARNING,
            message=(
                f"{key.kind} {key.name} is excluded by the settings (resource.exclusions or "
                "resource.inclusions of argocd-cm): it is neither compared, applied nor pruned"
            ),
        )
        for key in comparison.excluded
    )


def _orphaned(project: AppProject | None, comparison: Comparison) -> tuple[Condition, ...]:
    count = len(comparison.orphaned)
    if not count or not warns(project):
        return ()
    message = f"Application has {count} orphaned resources"
    return (Condition(type=ConditionType.ORPHANED_RESOURCE_WARNING, message=message),)


def _rule_problems(comparison: Comparison) -> tuple[Condition, ...]:
    return tuple(
        Condition(type=ConditionType.IGNORE_RULE_WARNING, message=message)
        for message in comparison.rule_problems
    )


def _unseen(comparison: Comparison) -> tuple[Condition, ...]:
    """One condition for each reason: it names the kind, whose objects may be many."""
    return tuple(
        Condition(
            type=ConditionType.PRUNE_HELD_WARNING,
            message=f"objects that Git no longer has are not pruned: {why}",
        )
        for why in sorted({one.unseen for one in comparison.pairs if one.unseen})
    )


def _error(message: str) -> tuple[Condition, ...]:
    return (Condition(type=ConditionType.SYNC_ERROR, message=message),) if message else ()
