"""The hooks of a stage of a deletion: their names, how they go, and what becomes of them. Pure.

All hooks of a stage run at once; waves and BeforeHookCreation mean nothing here, and an object of
the application that has the name of a hook counts as that hook. One that is not of the application
stops the stage. A hook of the default policy stays in the cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from bus.identity import ResourceKey, Revision
from bus.status import HealthStatus
from handlers.application import times
from handlers.application.application import Application
from handlers.application.deletion_stage import DeletionStage
from handlers.manifest import access
from handlers.manifest.access import Manifest, annotation
from handlers.manifest.hooks import (
    HOOK_RUN,
    HookDeletePolicy,
    held,
    hook_of,
    is_held,
    phases_of,
)
from handlers.ports import LiveObject
from handlers.sync.hook_tasks import HookRun

Get = Callable[[ResourceKey], LiveObject | None]


def hooks_of_stage(
    app: Application, stage: DeletionStage, manifests: Iterable[Manifest], revision: Revision
) -> tuple[Manifest, ...]:
    """Name and mark the hooks; a generated name is made of the time of the deletion."""
    begun = times.read(app.metadata.deletion_timestamp)
    run = HookRun(
        operation=app.metadata.uid,
        attempt=0,
        revision=revision,
        started=int(begun.timestamp()) if begun else 0,
    )
    found = (one for one in manifests if stage.phase in phases_of(one))
    return tuple(held(run.named(one, stage.phase), run.mark(stage.phase)) for one in found)


class DeletionProgress(msgspec.Struct, frozen=True, kw_only=True):
    missing: tuple[Manifest, ...] = ()
    running: tuple[LiveObject, ...] = ()
    failed: tuple[LiveObject, ...] = ()
    foreign: tuple[LiveObject, ...] = ()
    """Objects that have the name of a hook and are not of this application."""

    @property
    def done(self) -> bool:
        return not (self.missing or self.running or self.failed or self.foreign)


def stage_progress(hooks: Iterable[Manifest], get: Get, identity: str) -> DeletionProgress:
    """Judge the hooks of an application: Progressing runs, Degraded has failed, others are done."""
    lives = [(hook, get(access.key(hook))) for hook in hooks]
    found = [(hook, live) for hook, live in lives if live is not None]
    there = [live for hook, live in found if _is_of(hook, live, identity)]
    return DeletionProgress(
        missing=tuple(hook for hook, live in lives if live is None),
        running=tuple(one for one in there if one.health is HealthStatus.PROGRESSING),
        failed=tuple(one for one in there if one.health is HealthStatus.DEGRADED),
        foreign=tuple(live for hook, live in found if not _is_of(hook, live, identity)),
    )


def _is_of(hook: Manifest, live: LiveObject, identity: str) -> bool:
    """Whether the object is of the hook's application; what is never stamped needs the mark."""
    if not live.body:
        return False
    if not live.application:
        return annotation(live.manifest, HOOK_RUN) == annotation(hook, HOOK_RUN)
    return live.application == identity


class StageCleanup(msgspec.Struct, frozen=True, kw_only=True):
    release: tuple[LiveObject, ...] = ()
    delete: tuple[LiveObject, ...] = ()
    denied: tuple[LiveObject, ...] = ()
    """Those that would be let go or deleted, but may not be."""


def stage_cleanup(
    stage: DeletionStage, lives: Iterable[LiveObject], denied: Container[ResourceKey] = ()
) -> StageCleanup:
    """Find the hooks to let go, those whose policy has them deleted, and those out of reach."""
    found = [one for one in lives if one.body and stage.phase in phases_of(one.manifest)]
    permitted = _cleanup([one for one in found if one.key not in denied])
    beyond = _cleanup([one for one in found if one.key in denied])
    touched = {one.key: one for one in (*beyond.release, *beyond.delete)}
    return replace(permitted, denied=tuple(touched.values()))


def _cleanup(mine: Sequence[LiveObject]) -> StageCleanup:
    failed = any(one.health is HealthStatus.DEGRADED for one in mine)
    policy = HookDeletePolicy.HOOK_FAILED if failed else HookDeletePolicy.HOOK_SUCCEEDED
    return StageCleanup(
        release=tuple(one for one in mine if is_held(one.manifest)),
        delete=tuple(one for one in _with_policy(mine, policy) if not one.deleting),
    )


def _with_policy(lives: Iterable[LiveObject], policy: HookDeletePolicy) -> Iterator[LiveObject]:
    for one in lives:
        hook = hook_of(one.manifest)
        if hook is not None and policy in hook.delete_policies:
            yield one
