"""SyncWork: the tasks of an operation for the plan, and results that are known at once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from bus.identity import ResourceKey
from bus.status import ResultStatus
from handlers.application.application import Application
from handlers.application.policy import sync_options_of_app
from handlers.application.spec import SyncOperation, SyncResource
from handlers.application.status import ResourceResult
from handlers.comparison.comparison import ComparedPair, Comparison, PairState
from handlers.manifest.options import (
    Consent,
    SyncOptions,
    parse_sync_options,
    sync_options_of,
)
from handlers.sync.operation_results import result
from handlers.sync.sync_plan import SyncAction, SyncPhase, SyncTask


class SyncWork(msgspec.Struct, frozen=True, kw_only=True):
    tasks: tuple[SyncTask, ...]
    settled: tuple[ResourceResult, ...] = ()
    """Objects that are not touched: not permitted, or not to be pruned."""


def options_of(app: Application, sync: SyncOperation | None = None) -> SyncOptions:
    """The sync options of the operation where it names any, else of the application."""
    own = sync.sync_options if sync else ()
    return parse_sync_options(own) if own else sync_options_of_app(app)


def work_of(comparison: Comparison, sync: SyncOperation, options: SyncOptions) -> SyncWork:
    tasks: list[SyncTask] = []
    settled: list[ResourceResult] = []
    for pair in _chosen(comparison.pairs, sync.resources):
        if options.apply_out_of_sync_only and pair.state is PairState.SAME:
            continue
        task = _task(pair, options)
        untouched = _untouched(task, pair, sync, options)
        if untouched is None:
            tasks.append(task)
        else:
            settled.append(untouched)
    return SyncWork(tasks=tuple(tasks), settled=tuple(settled))


def namespace_task(
    name: str, comparison: Comparison, options: SyncOptions, *, exists: bool
) -> Iterator[SyncTask]:
    """Make the task of CreateNamespace: a bare, untracked Namespace before everything else."""
    written = any(_is_namespace(one.key, name) and one.desired for one in comparison.pairs)
    if not options.create_namespace or exists or written or not name:
        return
    yield SyncTask(
        action=SyncAction.APPLY,
        key=ResourceKey("", "Namespace", "", name),
        version="v1",
        manifest={"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
        phase=SyncPhase.PRE_SYNC,
    )


def _chosen(
    pairs: Iterable[ComparedPair], resources: tuple[SyncResource, ...]
) -> Iterator[ComparedPair]:
    """The pairs that the operation names, or all; an entry without a namespace means any."""
    for pair in pairs:
        if not resources or any(_names(one, pair.key) for one in resources):
            yield pair


def _names(written: SyncResource, key: ResourceKey) -> bool:
    same = (written.group, written.kind, written.name) == (key.group, key.kind, key.name)
    return same and written.namespace in ("", key.namespace)


def _task(pair: ComparedPair, options: SyncOptions) -> SyncTask:
    manifest = pair.desired or (pair.live.manifest if pair.live else {})
    return SyncTask(
        action=SyncAction.APPLY if pair.desired is not None else SyncAction.PRUNE,
        key=pair.key,
        version=pair.resource.version,
        manifest=pair.desired or {},
        wave=pair.resource.wave,
        prune_last=pair.desired is None and sync_options_of(manifest, options).prune_last,
        changed=_changed(pair, options),
    )


def _changed(pair: ComparedPair, options: SyncOptions) -> bool:
    """Whether the object is sent. A sync writes ignored fields too, unless it respects them."""
    if pair.resource.hides_difference and not options.respect_ignore_differences:
        return True
    return pair.state not in (PairState.SAME, PairState.LEAVING)


def _untouched(
    task: SyncTask, pair: ComparedPair, sync: SyncOperation, options: SyncOptions
) -> ResourceResult | None:
    if not pair.permitted:
        return result(task, ResultStatus.SYNC_FAILED, pair.denied)
    if task.action is not SyncAction.PRUNE or pair.live is None:
        return None
    if sync_options_of(pair.live.manifest, options).prune is not Consent.YES:
        return result(task, ResultStatus.PRUNE_SKIPPED, "ignored (no prune)")
    if not sync.prune:
        return result(task, ResultStatus.PRUNE_SKIPPED, "ignored (requires pruning)")
    return None


def _is_namespace(key: ResourceKey, name: str) -> bool:
    return (key.group, key.kind, key.name) == ("", "Namespace", name)
