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
from bus.status import HealthStatus
from handlers.application import times
from handlers.application.application import Application, AppProject
from handlers.application.external_urls import external_urls, may_have_urls
from handlers.application.policy import sync_options_of_app
from handlers.application.status import (
    ApplicationStatus,
    ComparedTo,
    Summary,
    SyncState,
    revised,
)
from handlers.application.status_size import fitting
from handlers.comparison.comparison import Comparison
from handlers.health.application_health import aggregate, health_state, member
from handlers.manifest.kinds import KindInfo, defined_by
from handlers.ports import LiveObject
from handlers.sync.observed_conditions import OBSERVED, observed_conditions
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
    conditions = observed_conditions(app, project, comparison, now, error)
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
            conditions=revised(before.conditions, OBSERVED, conditions, at),
            summary=Summary(images=_images(comparison), external_urls=_urls(comparison)),
            source_type=types[0] if not app.spec.sources else "",
            source_types=types if app.spec.sources else (),
            resource_health_source="" if comparison.persists_health else HEALTH_SOURCE,
            controller_namespace=project.metadata.namespace if project else "",
        )
    )
    return before if after == before else replace(after, reconciled_at=at)


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
