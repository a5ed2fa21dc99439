"""The status of an Application as a comparison shows it, and the progress of its objects. Pure.

Only what differs is sent, so an unchanged status is not written at all. Health of single
objects is left out, as Argo CD does by default (`resourceHealthSource: appTree`), because it costs
a write for every pod that starts; `controller.resource.health.persist` has it in. The progress of
each object of a plan says whether the next wave may begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import ConditionType, HealthStatus, SyncStatus
from handlers.application import times
from handlers.application.application import Application, AppProject
from handlers.application.external_urls import external_urls, may_have_urls
from handlers.application.policy import auto_sync, sync_options_of_app
from handlers.application.status import (
    ApplicationStatus,
    ComparedTo,
    Condition,
    Summary,
    SyncState,
    revised,
)
from handlers.application.status_size import fitting
from handlers.application.sync_windows import windows_of
from handlers.application.unsupported import conditions_of
from handlers.application.unsupported_fields import unsupported
from handlers.comparison.comparison import Comparison
from handlers.comparison.orphaned_resources import warns
from handlers.health.application_health import aggregate, health_state, member
from handlers.manifest.kinds import KindInfo, defined_by
from handlers.ports import LiveObject
from handlers.sync.operation_results import READY, ObjectProgress, ProgressState
from handlers.sync.resource_statuses import resource_statuses
from handlers.sync.sync_plan import SyncAction, SyncStep, SyncTask

Get = Callable[[ResourceKey], LiveObject | None]
Lookup = Callable[[str, str], KindInfo | None]


def progress_of_steps(
    steps: Iterable[SyncStep], get: Get, kind: Lookup
) -> Mapping[ResourceKey, ObjectProgress]:
    """Judge the objects of all steps; how hooks go is in their results."""
    tasks = (one for step in steps for one in step.tasks if one.hook is None)
    return {one.key: progress_of(one, get(one.key), kind) for one in tasks}


def progress_of(task: SyncTask, live: LiveObject | None, kind: Lookup) -> ObjectProgress:
    """Judge one object by what the index of live objects has of it.

    A pruned object is ready when it is gone. An applied one is ready when it is healthy, or of a
    kind without health; degraded fails, and every other health waits.
    """
    if task.action is SyncAction.PRUNE:
        return READY if live is None else ObjectProgress(ProgressState.WAITING)
    if live is None:
        return ObjectProgress(ProgressState.FAILED, "it is not in the cluster any more")
    if live.health in (None, HealthStatus.HEALTHY):
        return _served(task, kind)
    if live.health is HealthStatus.DEGRADED:
        return ObjectProgress(ProgressState.FAILED, live.health_message or "it is degraded")
    return ObjectProgress(ProgressState.WAITING, live.health_message)


def _served(task: SyncTask, kind: Lookup) -> ObjectProgress:
    """Wait for a CustomResourceDefinition until discovery names the kind that it defines."""
    if all(kind(one.group, one.kind) for one in defined_by(task.manifest)):
        return READY
    return ObjectProgress(ProgressState.WAITING, "it is not established yet")


def defines(task: SyncTask) -> bool:
    """Whether the object is a CustomResourceDefinition."""
    return bool(defined_by(task.manifest))


_OWNED = (
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
_MOST_OF_OBJECTS = 20
HEALTH_SOURCE = "appTree"


def observed(
    app: Application,
    project: AppProject | None,
    comparison: Comparison,
    now: datetime,
    error: str = "",
) -> ApplicationStatus:
    """Return the new status, or `app.status` itself where nothing changed.

    `error` is what keeps the application from being synced.
    """
    before, at = app.status, times.written(now)
    conditions = (
        *_listed(_shared(comparison)),
        *_unsupported(app, project, comparison),
        *_closed_window(app, project, comparison, now),
        *_listed(_excluded(comparison)),
        *_rule_problems(comparison),
        *_unseen(comparison),
        *_orphaned(project, comparison),
        *_error(error),
    )
    types = comparison.record.source_types
    desired = [one for one in comparison.pairs if one.desired is not None]
    options = sync_options_of_app(app)
    health = aggregate(member(one.key, one.live) for one in desired)
    after = fitting(
        replace(
            before,
            sync=_sync(app, comparison),
            health=health_state(before.health, health, at),
            resources=resource_statuses(comparison, options),
            resources_total=0,
            conditions=revised(before.conditions, _OWNED, conditions, at),
            summary=Summary(images=_images(comparison), external_urls=_urls(comparison)),
            source_type=types[0] if not app.spec.sources else "",
            source_types=types if app.spec.sources else (),
            resource_health_source="" if comparison.persists_health else HEALTH_SOURCE,
            controller_namespace=project.metadata.namespace if project else "",
        )
    )
    return before if after == before else replace(after, reconciled_at=at)


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


def _sync(app: Application, comparison: Comparison) -> SyncState:
    record = comparison.record
    return SyncState(
        status=comparison.status,
        revision=record.revisions.revision,
        revisions=record.revisions.revisions,
        compared_to=ComparedTo(
            source=None if app.spec.sources else app.spec.source,
            sources=app.spec.sources,
            destination=app.spec.destination,
            ignore_differences=app.spec.ignore_differences,
        ),
    )


def _images(comparison: Comparison) -> tuple[str, ...]:
    return tuple(sorted(comparison.images))


def _urls(comparison: Comparison) -> tuple[str, ...]:
    lives = (one.live for one in comparison.pairs if one.live is not None and one.live.body)
    return external_urls(one.manifest for one in lives if may_have_urls(one.key, one.body))


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
