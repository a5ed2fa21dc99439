"""The tasks of an operation's hooks: which run, under which name, and with which marks. Pure.

A sync of chosen objects runs no hooks, and neither does one with the strategy `apply`. A hook of
several phases is one task in each. A generated name is made of the revision, the phase and the
start of the operation, so it is the same again whenever the operation is planned anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from bus.status import ResultStatus
from handlers.application import times
from handlers.application.revisions import Revisions
from handlers.application.status import OperationState, ResourceResult
from handlers.comparison.comparison import Comparison
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import HookPhase, held, hook_of
from handlers.manifest.order import wave
from handlers.manifest.tracking import named
from handlers.sync.operation_info import operation_id
from handlers.sync.operation_results import result
from handlers.sync.sync_plan import SyncAction, SyncPhase, SyncTask
from handlers.sync.sync_work import SyncWork

PHASES = {
    HookPhase.PRE_SYNC: SyncPhase.PRE_SYNC,
    HookPhase.SYNC: SyncPhase.SYNC,
    HookPhase.POST_SYNC: SyncPhase.POST_SYNC,
    HookPhase.SYNC_FAIL: SyncPhase.SYNC_FAIL,
}
_SHORT = 7
_NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")


class HookRun(msgspec.Struct, frozen=True, kw_only=True):
    """One try of an operation, for which hooks are named and marked."""

    operation: str
    attempt: int
    revision: str
    started: int
    """Seconds since 1970."""

    @classmethod
    def of(cls, state: OperationState) -> HookRun:
        started, result = times.read(state.started_at), state.sync_result
        return cls(
            operation=operation_id(state),
            attempt=state.retry_count,
            revision=Revisions.of(result).main(result.sources) if result else "",
            started=int(started.timestamp()) if started else 0,
        )

    def mark(self, phase: str) -> str:
        return f"{self.operation}/{self.attempt}/{phase}"

    def named(self, manifest: Manifest, phase: str) -> Manifest:
        """Give the hook the name that Argo CD generates, where it has none of its own."""
        if access.name(manifest):
            return manifest
        suffix = f"{short(self.revision)}-{phase}-{self.started}"
        return named(manifest, f"{access.generate_name(manifest)}{suffix}".lower())


def short(revision: str) -> str:
    """Shorten a commit, a version or a digest to what a name may hold."""
    begin = revision.rpartition(":")[2][:_SHORT].lower()
    return _NOT_IN_NAMES.sub("-", begin).strip("-")


def hook_work(comparison: Comparison, state: OperationState) -> SyncWork:
    """Make a task of each hook and phase; a hook that is denied is a result at once."""
    sync = state.operation.sync
    if sync is None or not sync.runs_hooks:
        return SyncWork(tasks=())
    run = HookRun.of(state)
    tasks: list[SyncTask] = []
    settled: list[ResourceResult] = []
    for manifest in comparison.hooks:
        denied = comparison.denied_hooks.get(access.key(manifest), "")
        for task in _tasks(manifest, run):
            if denied:
                settled.append(result(task, ResultStatus.SYNC_FAILED, denied))
            else:
                tasks.append(task)
    return SyncWork(tasks=tuple(tasks), settled=tuple(settled))


def _tasks(manifest: Manifest, run: HookRun) -> Iterator[SyncTask]:
    hook = hook_of(manifest)
    for phase in (PHASES[one] for one in (hook.phases if hook else ()) if one in PHASES):
        marked = held(run.named(manifest, phase), run.mark(phase))
        yield SyncTask(
            action=SyncAction.APPLY,
            key=access.key(marked),
            version=access.version(marked),
            manifest=marked,
            phase=phase,
            wave=wave(marked),
            hook=hook,
        )
