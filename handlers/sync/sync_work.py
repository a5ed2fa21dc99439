"""SyncWork: the tasks of an operation for the plan, and results that are known at once. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from bus.identity import ResourceKey
from bus.status import ResultStatus
from handlers.application.application import Application
from handlers.application.denials import NOT_PERMITTED
from handlers.application.policy import sync_options_for, sync_options_of_app
from handlers.application.spec import SyncOperation
from handlers.application.status import ResourceResult
from handlers.comparison.comparison import ComparedPair, Comparison, PairState
from handlers.comparison.respected_fields import respected
from handlers.manifest.access import Manifest
from handlers.manifest.options import (
    Consent,
    SyncOptions,
    sync_options_of,
)
from handlers.sync.operation_results import result
from handlers.sync.resource_selection import is_selected
from handlers.sync.sync_plan import SyncAction, SyncTask


class SyncWork(msgspec.Struct, frozen=True, kw_only=True):
    tasks: tuple[SyncTask, ...]
    settled: tuple[ResourceResult, ...] = ()
    """Objects that are not touched: not permitted, or not to be pruned."""

    def plus(self, other: SyncWork) -> SyncWork:
        return SyncWork(tasks=(*self.tasks, *other.tasks), settled=(*self.settled, *other.settled))


def options_of(app: Application, sync: SyncOperation | None = None) -> SyncOptions:
    """The sync options of the operation, or of the application where there is no operation.

    An operation carries its options: whoever starts it copies those of the application.
    """
    if sync is None:
        return sync_options_of_app(app)
    options = sync_options_for(app, sync.sync_options)
    return msgspec.structs.replace(options, force=True) if sync.forces else options


def work_of(
    comparison: Comparison,
    sync: SyncOperation,
    options: SyncOptions,
    *,
    prunes_approved: bool = False,
) -> SyncWork:
    """Make the tasks; `prunes_approved` says whether a person has approved `Prune=confirm`."""
    shared = shared_problems(comparison, options)
    if shared:
        return SyncWork(tasks=(), settled=tuple(shared.values()))
    tasks: list[SyncTask] = []
    settled: list[ResourceResult] = []
    confirmed = prunes_approved or sync.dry_run
    for pair in comparison.pairs:
        if not is_selected(pair.key, sync.resources):
            continue
        if options.apply_out_of_sync_only and pair.state is PairState.SAME:
            continue
        task = _task(pair, options, confirmed=confirmed)
        untouched = _untouched(task, pair, sync, options)
        if untouched is None:
            tasks.append(task)
        else:
            settled.append(untouched)
    return SyncWork(tasks=tuple(tasks), settled=tuple(settled))


def shared_problems(
    comparison: Comparison, options: SyncOptions
) -> Mapping[ResourceKey, ResourceResult]:
    """Fail each object that another application has too, where `FailOnSharedResource` says so."""
    if not options.fail_on_shared_resource:
        return {}
    return {
        pair.key: result(
            _task(pair, options, confirmed=False), ResultStatus.SYNC_FAILED, _shared(pair)
        )
        for pair in comparison.pairs
        if pair.resource.shared_with and pair.desired is not None
    }


def _shared(pair: ComparedPair) -> str:
    return (
        f"it {NOT_PERMITTED} by FailOnSharedResource=true: it is part of the application"
        f" {pair.resource.shared_with!r} too; remove it from one of them"
    )


def _task(pair: ComparedPair, options: SyncOptions, *, confirmed: bool) -> SyncTask:
    manifest = pair.desired or (pair.live.manifest if pair.live else {})
    is_prune = pair.desired is None
    own = sync_options_of(manifest, options) if is_prune else options
    waits = is_prune and own.prune is Consent.CONFIRM and pair.state is not PairState.LEAVING
    return SyncTask(
        action=SyncAction.PRUNE if is_prune else SyncAction.APPLY,
        key=pair.key,
        version=pair.resource.version,
        manifest=_applied(pair, options),
        wave=pair.resource.wave,
        prune_last=is_prune and own.prune_last,
        unconfirmed=waits and not confirmed,
        changed=_is_sent(pair, options),
    )


def _applied(pair: ComparedPair, options: SyncOptions) -> Manifest:
    """What is sent: where ignored fields are respected, the values of others stay theirs."""
    if pair.desired is None:
        return {}
    if pair.live is None or pair.ignored is None or not options.respect_ignore_differences:
        return pair.desired
    replaces = sync_options_of(pair.desired, options).replace
    return respected(pair.desired, pair.live, pair.ignored, replaces=replaces)


def _is_sent(pair: ComparedPair, options: SyncOptions) -> bool:
    """Whether the object is sent.

    A sync writes ignored fields too, unless it respects them; and the index does not know what an
    `earlier_manager` still owns.
    """
    if pair.resource.hides_difference and not options.respect_ignore_differences:
        return True
    migrates = bool(options.earlier_manager) and options.takes_over and pair.desired is not None
    return migrates or pair.state not in (PairState.SAME, PairState.LEAVING)


def _untouched(
    task: SyncTask, pair: ComparedPair, sync: SyncOperation, options: SyncOptions
) -> ResourceResult | None:
    if not pair.permitted:
        return result(task, ResultStatus.SYNC_FAILED, pair.denied)
    if task.action is not SyncAction.PRUNE or pair.live is None:
        return None
    if sync_options_of(pair.live.manifest, options).prune is Consent.NO:
        return result(task, ResultStatus.PRUNE_SKIPPED, "ignored (no prune)")
    if not sync.prune:
        return result(task, ResultStatus.PRUNE_SKIPPED, "ignored (requires pruning)")
    if pair.unseen:
        return result(task, ResultStatus.PRUNE_SKIPPED, f"not pruned: {pair.unseen}")
    return None
