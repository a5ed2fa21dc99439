"""The decision to sync automatically: may we, and must we? Pure.

`decide` returns a SyncStart, or a SyncSkip with the reason in a word and in a sentence. The first
reason in its list counts. The answer depends only on what is true now, so it is asked twice: by the
handler of Compared, and once more by the step handler, which acts on it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from bus.identity import ResourceKey
from bus.status import ConditionType, OperationPhase, Reason, SyncStatus
from handlers.application.application import Application
from handlers.application.policy import AutoSync, auto_sync, retry_strategy
from handlers.application.revisions import Revisions
from handlers.application.spec import InitiatedBy, Operation, SyncOperation, SyncResource
from handlers.application.status import OperationState, SyncResult, blocking
from handlers.sync import repeated_syncs
from handlers.sync.operation_transitions import under_way, was_held
from handlers.sync.repeated_syncs import permits_otherwise
from handlers.sync.sync_input import SyncInput


class SyncSkip(msgspec.Struct, frozen=True, kw_only=True):
    reason: Reason
    message: str
    is_error: bool = False
    """A person must act: shown as a SyncError condition."""
    look_again: float = 0.0
    """Seconds after which the answer may be another; 0 for never by itself."""


class SyncStart(msgspec.Struct, frozen=True, kw_only=True):
    operation: Operation


def decide(app: Application, sync_input: SyncInput, now: datetime) -> SyncSkip | SyncStart:
    """Say whether to sync now; an attempt of the same revision counts unless its rules changed."""
    last = last_attempt(app, sync_input.revisions)
    hooks = sync_input.hooks or frozenset()
    if last is not None and (permits_otherwise(last, sync_input.denied, hooks) or was_held(last)):
        last = None
    if sync_input.namespace_differs:
        last = None
    policy = _automation(app)
    if policy is None:
        return _never(app) or _AUTO_SYNC_OFF
    return (
        _never(app)
        or _needless(sync_input, policy, last)
        or _dangerous(sync_input, policy)
        or _too_soon(sync_input, policy, last, now)
        or _held(sync_input)
        or _window_closed(sync_input, now)
        or SyncStart(operation=_automated(app, sync_input, policy, _heals(last, now)))
    )


def hold(app: Application, sync_input: SyncInput) -> SyncSkip | None:
    """What stops an automated operation also where it has failed and waits for its next try.

    It lasts until somebody changes something: what is only too early is no hold, and neither is a
    repository that cannot be read just now, for what is tried again was rendered before.
    """
    blocked = _blocked(app, ConditionType.INVALID_SPEC_ERROR)
    return blocked or (_held(sync_input) if _automation(app) else _AUTO_SYNC_OFF)


def is_operating(app: Application) -> bool:
    """Whether an operation is requested or under way."""
    return app.operation is not None or under_way(app) is not None


def last_attempt(app: Application, revisions: Revisions) -> OperationState | None:
    """The last operation, if it was to bring the whole of `revisions` from today's sources."""
    state = app.status.operation_state
    if state is None or state.sync_result is None or state.operation.sync is None:
        return None
    operation = state.operation
    by_hand = not operation.initiated_by.automated
    partial = state.operation.sync.dry_run or (by_hand and state.operation.sync.resources)
    return state if _is_of(state.sync_result, app, revisions) and not partial else None


def _is_of(result: SyncResult, app: Application, revisions: Revisions) -> bool:
    sources = result.sources or ((result.source,) if result.source else ())
    same = sources == app.sources and bool(result.sources) == bool(app.spec.sources)
    return same and Revisions.of(result) == revisions


def _never(app: Application) -> SyncSkip | None:
    if app.deleting:
        return _skip(Reason.DELETING, "the Application is being deleted")
    if blocked := _blocked(app):
        return blocked
    if is_operating(app):
        return _skip(Reason.OPERATION_RUNNING, "another operation is running")
    return None


def _blocked(app: Application, *types: ConditionType) -> SyncSkip | None:
    """Skip because of a blocking condition of one of the types; of any type where none is named."""
    blocks = [one for one in blocking(app.status.conditions) if not types or one.type in types]
    if not blocks:
        return None
    condition = f"{blocks[0].type}: {blocks[0].message}"
    return _skip(Reason.CONDITIONS_BLOCK, f"nothing is synced until this is solved: {condition}")


def _automation(app: Application) -> AutoSync | None:
    """The policy of automated syncs; None where they are off or the application is paused."""
    return None if app.is_skipped else auto_sync(app.spec)


def _needless(
    sync_input: SyncInput, policy: AutoSync, last: OperationState | None
) -> SyncSkip | None:
    """A revision that changes nothing is still deployed once, so that the history knows it.

    It also mends the record where the agent was killed after its last apply. But hooks alone are no
    reason to sync, as in Argo CD: their operation is on record before anything is applied.
    """
    if sync_input.status is SyncStatus.UNKNOWN:
        return _skip(Reason.CONDITIONS_BLOCK, "it is not known whether live equals desired")
    recorded = last is not None or sync_input.hooks is not None
    if sync_input.status is SyncStatus.SYNCED and recorded and not sync_input.namespace_differs:
        return _skip(Reason.ALREADY_SYNCED, "live equals desired")
    if sync_input.extra and not sync_input.differing and not policy.prune:
        return _skip(
            Reason.ONLY_PRUNE_NEEDED,
            f"{len(sync_input.extra)} objects are no longer in Git and automated prune is off; "
            "set spec.syncPolicy.automated.prune or sync by hand with prune",
        )
    if (
        not sync_input.extra
        and not sync_input.differing
        and not sync_input.namespace_differs
        and sync_input.status is SyncStatus.OUT_OF_SYNC
    ):
        message = "all that differs are objects that are no longer in Git and may not be pruned"
        return _skip(Reason.ONLY_PRUNE_NEEDED, message)
    return None


def _held(sync_input: SyncInput) -> SyncSkip | None:
    if not sync_input.held:
        return None
    return _skip(Reason.AUTO_SYNC_HELD, "; ".join(sync_input.held))


def _window_closed(sync_input: SyncInput, now: datetime) -> SyncSkip | None:
    problem = sync_input.windows.problem(now, by_hand=False)
    return _skip(Reason.SYNC_WINDOW, problem) if problem else None


def _dangerous(sync_input: SyncInput, policy: AutoSync) -> SyncSkip | None:
    if sync_input.extra and not sync_input.desired and policy.prune and not policy.allow_empty:
        return _error(
            Reason.NOTHING_RENDERED,
            f"{sync_input.revisions.short} renders to nothing: auto-sync will wipe out all "
            f"resources, {len(sync_input.extra)} of them; if that is meant, set "
            "spec.syncPolicy.automated.allowEmpty or sync by hand with prune",
        )
    return None


def _too_soon(
    sync_input: SyncInput, policy: AutoSync, last: OperationState | None, now: datetime
) -> SyncSkip | None:
    if last is None:
        return None
    if last.phase in (OperationPhase.FAILED, OperationPhase.ERROR):
        return _error(
            Reason.ALREADY_ATTEMPTED,
            f"the sync to {sync_input.revisions.short} failed and is not tried again by itself: "
            f"{last.message}",
        )
    if not policy.self_heal:
        return _skip(
            Reason.SELF_HEAL_OFF,
            f"{sync_input.revisions.short} was deployed and something changed in the cluster; "
            "set spec.syncPolicy.automated.selfHeal or sync by hand",
        )
    seconds = repeated_syncs.wait(last, now)
    if seconds <= 0:
        return None
    count = repeated_syncs.attempts(last, now)
    return SyncSkip(
        reason=Reason.SELF_HEAL_BACK_OFF,
        message=f"healed {count} times in a row; again in {seconds:.0f} s",
        look_again=seconds,
    )


def _heals(last: OperationState | None, now: datetime) -> int:
    """Which heal in a row this one is; 0 for the first sync of a revision."""
    return 0 if last is None else repeated_syncs.attempts(last, now) + 1


def _automated(app: Application, sync_input: SyncInput, policy: AutoSync, heals: int) -> Operation:
    """A heal touches only what differs; the first sync of a revision deploys the whole of it."""
    options = app.spec.sync_policy.sync_options if app.spec.sync_policy else ()
    touched = (*sync_input.differing, *sync_input.extra) if heals else ()
    return Operation(
        sync=SyncOperation(
            revision=sync_input.revisions.revision,
            revisions=sync_input.revisions.revisions,
            prune=policy.prune,
            resources=tuple(_named(key) for key in sorted(touched)),
            sync_options=options,
            auto_heal_attempts_count=heals,
        ),
        initiated_by=InitiatedBy(automated=True),
        retry=retry_strategy(app.spec),
    )


def _named(key: ResourceKey) -> SyncResource:
    return SyncResource(group=key.group, kind=key.kind, namespace=key.namespace, name=key.name)


def _skip(reason: Reason, message: str) -> SyncSkip:
    return SyncSkip(reason=reason, message=message)


def _error(reason: Reason, message: str) -> SyncSkip:
    return SyncSkip(reason=reason, message=message, is_error=True)


_AUTO_SYNC_OFF = _skip(
    Reason.AUTO_SYNC_OFF, "auto-sync is off; set spec.syncPolicy.automated or sync by hand"
)
