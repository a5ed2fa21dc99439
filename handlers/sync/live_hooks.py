"""The hooks of an operation as the cluster has them: how they go, and what is in their way. Pure.

A hook that runs is judged by the live object. Only an object of this application that carries the
mark of this very try counts: a hook of an earlier sync has the same name, and must neither end a
hook nor be taken for one. A result alone proves nothing: the hook may have been denied, and who may
write the Application may write its results. The health decides:

    none, Healthy, Missing    Succeeded
    Progressing, Suspended    Running
    Degraded, Unknown         Failed
    not there any more        Error: somebody deleted it before its end was seen
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

import msgspec
from msgspec.structs import replace

from bus.identity import ResourceKey
from bus.status import HealthStatus, OperationPhase, ResultStatus
from handlers.application.status import OperationState, ResourceResult
from handlers.manifest.access import annotation
from handlers.manifest.hooks import HOOK_RUN, HookDeletePolicy, hook_of, is_held
from handlers.manifest.kinds import CUSTOM_RESOURCE_DEFINITION, GroupKind
from handlers.ports import LiveObject
from handlers.sync.hook_tasks import HookRun
from handlers.sync.operation_results import running_hooks
from handlers.sync.sync_plan import SyncTask, TaskId

Get = Callable[[ResourceKey], LiveObject | None]

_PHASES = {
    None: OperationPhase.SUCCEEDED,
    HealthStatus.HEALTHY: OperationPhase.SUCCEEDED,
    HealthStatus.MISSING: OperationPhase.SUCCEEDED,
    HealthStatus.PROGRESSING: OperationPhase.RUNNING,
    HealthStatus.SUSPENDED: OperationPhase.RUNNING,
    HealthStatus.DEGRADED: OperationPhase.FAILED,
    HealthStatus.UNKNOWN: OperationPhase.FAILED,
}


class LiveHook(msgspec.Struct, frozen=True, kw_only=True):
    """A hook that this try applied and that is in the cluster."""

    result: ResourceResult
    live: LiveObject
    held: bool
    """Whether its finalizer keeps it there."""
    policies: tuple[HookDeletePolicy, ...] = ()

    @property
    def runs(self) -> bool:
        return self.result.hook_phase == OperationPhase.RUNNING


class LeftOver(msgspec.Struct, frozen=True, kw_only=True):
    """An object that must be gone before a hook of its name is created."""

    live: LiveObject
    held: bool


def phase_of(health: HealthStatus | None) -> OperationPhase:
    """Return what the health of a hook says of its run."""
    return _PHASES[health]


def judged(state: OperationState, get: Get, identity: str) -> tuple[ResourceResult, ...]:
    """Judge the hooks that run, and return the results that differ from those known."""
    run = HookRun.of(state)
    before = running_hooks(state.sync_result.resources if state.sync_result else ())
    after = ((one, _judged(one, _own(one, run, get, identity))) for one in before)
    return tuple(new for one, new in after if new != one)


def live_hooks(state: OperationState, get: Get, identity: str) -> tuple[LiveHook, ...]:
    """Return the hooks of the application `identity` that this try applied."""
    return tuple(_live_hooks(state, get, identity))


def left_over(
    tasks: Iterable[SyncTask], state: OperationState, get: Get, identity: str
) -> Mapping[TaskId, LeftOver]:
    """Find what is left of earlier runs and must go, by the hook that it stands in the way of.

    An object of another application, or of none, is no leftover: it is applied to, as any object
    is. One that is being deleted must go even where its policy would let it stay.
    """
    run = HookRun.of(state)
    found: dict[TaskId, LeftOver] = {}
    for task in tasks:
        live = get(task.key) if task.hook is not None else None
        if task.hook is None or live is None or not live.body or not _is_same(live, identity):
            continue
        manifest = live.manifest
        replaced = HookDeletePolicy.BEFORE_HOOK_CREATION in task.hook.delete_policies
        if annotation(manifest, HOOK_RUN) != run.mark(task.phase) and (replaced or live.deleting):
            found[task.id] = LeftOver(live=live, held=is_held(manifest))
    return found


def _is_same(live: LiveObject, identity: str) -> bool:
    """Whether the object was a hook of this application; a definition is known by its mark."""
    if GroupKind(live.key.group, live.key.kind) == CUSTOM_RESOURCE_DEFINITION:
        return bool(annotation(live.manifest, HOOK_RUN))
    return live.application == identity


def _live_hooks(state: OperationState, get: Get, identity: str) -> Iterator[LiveHook]:
    run = HookRun.of(state)
    for one in state.sync_result.resources if state.sync_result else ():
        live = _own(one, run, get, identity) if one.hook_type and one.hook_phase else None
        if live is not None:
            hook = hook_of(live.manifest)
            policies = hook.delete_policies if hook else ()
            held = is_held(live.manifest)
            yield LiveHook(result=one, live=live, held=held, policies=policies)


def _own(one: ResourceResult, run: HookRun, get: Get, identity: str) -> LiveObject | None:
    """The object of the result; one without any mark is of an operation that Argo CD began."""
    live = get(one.key) if one.status != ResultStatus.SYNC_FAILED else None
    if live is None or not live.body:
        return None
    manifest = live.manifest
    mark = annotation(manifest, HOOK_RUN)
    is_marked = mark == run.mark(one.sync_phase)
    if GroupKind.of(manifest) == CUSTOM_RESOURCE_DEFINITION:
        return live if is_marked else None  # never stamped with the application
    of_argo = not (mark or run.operation)
    return live if (is_marked or of_argo) and live.application == identity else None


def _judged(one: ResourceResult, live: LiveObject | None) -> ResourceResult:
    if live is None:
        return replace(
            one,
            status=ResultStatus.SYNC_FAILED,
            hook_phase=OperationPhase.ERROR,
            message=f"{one.kind} {one.name} is missing, it might have been deleted",
        )
    message = live.health_message or f"{one.name} created"
    return replace(one, hook_phase=phase_of(live.health), message=message)
