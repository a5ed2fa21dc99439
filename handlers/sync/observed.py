"""The status of an application as a world shows it: what is written after comparing and syncing.

Only what differs is sent, so a status that says the same is not written at all. Health of single
objects is left out, as Argo CD does today (`resourceHealthSource: appTree`): it would cost a write
for every pod that starts.
"""

from __future__ import annotations

from datetime import datetime

from msgspec.structs import replace

from bus.status import ConditionType, SyncStatus
from handlers.application import times
from handlers.application.application import Application, AppProject
from handlers.application.conditions import revised
from handlers.application.status import (
    ApplicationStatus,
    ComparedTo,
    Condition,
    ResourceStatus,
    Summary,
    SyncState,
)
from handlers.application.unsupported import conditions_of, unsupported
from handlers.compare.world import Pair, State, World
from handlers.health.aggregate import aggregate
from handlers.health.members import health_state, member
from handlers.manifest.images import images

_OWNED = (
    ConditionType.SYNC_ERROR,
    ConditionType.SHARED_RESOURCE_WARNING,
    ConditionType.UNSUPPORTED_FIELD_WARNING,
    ConditionType.AUTO_SYNC_HELD_WARNING,
    ConditionType.EXCLUDED_RESOURCE_WARNING,
)
HEALTH_SOURCE = "appTree"


def observed(
    app: Application, project: AppProject | None, world: World, now: datetime, error: str = ""
) -> ApplicationStatus:
    """`error` is what keeps it from being synced; `app.status` itself where nothing is new."""
    before, at = app.status, times.written(now)
    found = (*_shared(world), *_unsupported(app, project, world), *_excluded(world), *_error(error))
    desired = [one for one in world.pairs if one.desired is not None]
    health = aggregate(member(one.key, one.live) for one in desired)
    after = replace(
        before,
        sync=_sync(app, world),
        health=health_state(before.health, health, at),
        resources=tuple(_resource(one) for one in world.pairs if one.state is not State.LEAVING),
        conditions=revised(before.conditions, _OWNED, found, at),
        summary=Summary(images=_images(world), external_urls=before.summary.external_urls),
        source_type=world.record.source_type,
        resource_health_source=HEALTH_SOURCE,
        controller_namespace=project.metadata.namespace if project else "",
    )
    return before if after == before else replace(after, reconciled_at=at)


def _unsupported(
    app: Application, project: AppProject | None, world: World
) -> tuple[Condition, ...]:
    found = (*unsupported(app, project, world.manifests), *world.held_by_settings)
    return conditions_of(app, found)


def _sync(app: Application, world: World) -> SyncState:
    return SyncState(
        status=world.status,
        revision=world.record.revision,
        compared_to=ComparedTo(source=app.source, destination=app.spec.destination),
    )


def _resource(pair: Pair) -> ResourceStatus:
    key = pair.key
    status = pair.said.status if pair.permitted else SyncStatus.UNKNOWN
    return ResourceStatus(
        group=key.group,
        version=pair.said.version,
        kind=key.kind,
        namespace=key.namespace,
        name=key.name,
        status=status or "",
        requires_pruning=pair.said.requires_pruning,
        sync_wave=pair.said.wave,
    )


def _images(world: World) -> tuple[str, ...]:
    return tuple(sorted({name for one in world.pairs for name in images(one.desired or {})}))


def _shared(world: World) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type=ConditionType.SHARED_RESOURCE_WARNING,
            message=(
                f"{one.key.kind} {one.key.name} is part of this application and of "
                f"{one.said.shared_with}; both apply it, remove it from one of them"
            ),
        )
        for one in world.pairs
        if one.said.shared_with
    )


def _excluded(world: World) -> tuple[Condition, ...]:
    return tuple(
        Condition(
            type=ConditionType.EXCLUDED_RESOURCE_WARNING,
            message=(
                f"{key.kind} {key.name} is excluded by the settings (resource.exclusions or "
                "resource.inclusions of argocd-cm): it is neither compared, applied nor pruned"
            ),
        )
        for key in world.excluded
    )


def _error(message: str) -> tuple[Condition, ...]:
    return (Condition(type=ConditionType.SYNC_ERROR, message=message),) if message else ()
