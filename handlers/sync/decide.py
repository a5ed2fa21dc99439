"""May we sync by ourselves, and must we? Every reason against it in a word and a sentence.

The answer depends on what is true now, so it may be asked again at any time: by the room that hears
of a difference, and once more by the room that is about to act on it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from bus.identity import ResourceKey, Revision
from bus.status import OperationPhase, Reason, SyncStatus
from handlers.application.application import Application
from handlers.application.conditions import blocking
from handlers.application.policy import AutoSync, auto_sync, retry_strategy
from handlers.application.spec import InitiatedBy, Operation, SyncOperation, SyncResource
from handlers.application.status import OperationState
from handlers.application.unsupported import SKIP_RECONCILE
from handlers.sync import heal
from handlers.sync.denied import permits_otherwise
from handlers.sync.transitions import under_way


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """What a comparison says, as far as the decision goes."""

    status: SyncStatus
    revision: Revision
    desired: int
    """Objects that Git has."""
    differing: tuple[ResourceKey, ...] = ()
    """Changed or missing."""
    extra: tuple[ResourceKey, ...] = ()
    """Objects that Git no longer has, and that may be pruned."""
    denied: frozenset[str] = frozenset()
    """Why the project does not permit what Git has."""
    held: tuple[str, ...] = ()
    """What is not acted on though ignoring it could do harm, each with its consequence."""


class Skip(msgspec.Struct, frozen=True, kw_only=True):
    reason: Reason
    message: str
    is_error: bool = False
    """A person must act: shown as a SyncError condition."""
    look_again: float = 0.0
    """Seconds after which the answer may be another; 0 for never by itself."""


class Start(msgspec.Struct, frozen=True, kw_only=True):
    operation: Operation


def decide(app: Application, outlook: Outlook, now: datetime) -> Skip | Start:
    policy = auto_sync(app.spec)
    last = last_attempt(app, outlook.revision)
    if last is not None and permits_otherwise(last, outlook.denied):
        last = None
    if policy is None or app.metadata.annotations.get(SKIP_RECONCILE) == "true":
        return _never(app) or _skip(
            Reason.AUTO_SYNC_OFF, "auto-sync is off; set spec.syncPolicy.automated or sync by hand"
        )
    return (
        _never(app)
        or _needless(outlook, policy, last)
        or _dangerous(outlook, policy)
        or _too_soon(outlook, policy, last, now)
        or _held(outlook)
        or Start(operation=_automated(app, outlook, policy, _heals(last, now)))
    )


def is_operating(app: Application) -> bool:
    """Whether an operation is wanted or under way."""
    return app.operation is not None or under_way(app) is not None


def last_attempt(app: Application, revision: Revision) -> OperationState | None:
    """The last operation, if it was to bring the whole of `revision` from today's source."""
    state = app.status.operation_state
    if state is None or state.sync_result is None or state.operation.sync is None:
        return None
    operation = state.operation
    by_hand = not operation.initiated_by.automated
    partial = state.operation.sync.dry_run or (by_hand and state.operation.sync.resources)
    same = state.sync_result.revision == revision and state.sync_result.source == app.source
    return state if same and not partial else None


def _never(app: Application) -> Skip | None:
    if app.deleting:
        return _skip(Reason.DELETING, "the Application is being deleted")
    blocks = blocking(app.status.conditions)
    if blocks:
        said = f"{blocks[0].type}: {blocks[0].message}"
        return _skip(Reason.CONDITIONS_BLOCK, f"nothing is synced until this is solved: {said}")
    if is_operating(app):
        return _skip(Reason.OPERATION_RUNNING, "another operation is running")
    return None


def _needless(outlook: Outlook, policy: AutoSync, last: OperationState | None) -> Skip | None:
    """A revision that changes nothing is still deployed once, so that the history knows it.

    It also mends the record where the agent was killed after its last apply.
    """
    if outlook.status is SyncStatus.UNKNOWN:
        return _skip(Reason.CONDITIONS_BLOCK, "it is not known whether live equals desired")
    if outlook.status is SyncStatus.SYNCED and last is not None:
        return _skip(Reason.ALREADY_SYNCED, "live equals desired")
    if outlook.extra and not outlook.differing and not policy.prune:
        return _skip(
            Reason.ONLY_PRUNE_NEEDED,
            f"{len(outlook.extra)} objects are no longer in Git and automated prune is off; "
            "set spec.syncPolicy.automated.prune or sync by hand with prune",
        )
    if not outlook.extra and not outlook.differing and outlook.status is SyncStatus.OUT_OF_SYNC:
        message = "all that differs are objects that are no longer in Git and may not be pruned"
        return _skip(Reason.ONLY_PRUNE_NEEDED, message)
    return None


def _held(outlook: Outlook) -> Skip | None:
    if not outlook.held:
        return None
    return _skip(Reason.AUTO_SYNC_HELD, "; ".join(outlook.held))


def _dangerous(outlook: Outlook, policy: AutoSync) -> Skip | None:
    if outlook.extra and not outlook.desired and policy.prune and not policy.allow_empty:
        return _error(
            Reason.NOTHING_RENDERED,
            f"{outlook.revision[:7]} renders to nothing: auto-sync will wipe out all resources, "
            f"{len(outlook.extra)} of them; if that is meant, set "
            "spec.syncPolicy.automated.allowEmpty or sync by hand with prune",
        )
    return None


def _too_soon(
    outlook: Outlook, policy: AutoSync, last: OperationState | None, now: datetime
) -> Skip | None:
    if last is None:
        return None
    if last.phase in (OperationPhase.FAILED, OperationPhase.ERROR):
        return _error(
            Reason.ALREADY_ATTEMPTED,
            f"the sync to {outlook.revision[:7]} failed and is not tried again by itself: "
            f"{last.message}",
        )
    if not policy.self_heal:
        return _skip(
            Reason.SELF_HEAL_OFF,
            f"{outlook.revision[:7]} was deployed and something changed in the cluster; "
            "set spec.syncPolicy.automated.selfHeal or sync by hand",
        )
    seconds = heal.wait(last, now)
    if seconds <= 0:
        return None
    return Skip(
        reason=Reason.SELF_HEAL_BACK_OFF,
        message=f"healed {heal.attempts(last, now)} times in a row; again in {seconds:.0f} s",
        look_again=seconds,
    )


def _heals(last: OperationState | None, now: datetime) -> int:
    """Which heal in a row this one is; 0 for the first sync of a revision."""
    return 0 if last is None else heal.attempts(last, now) + 1


def _automated(app: Application, outlook: Outlook, policy: AutoSync, heals: int) -> Operation:
    """A heal touches only what differs; the first sync of a revision deploys the whole of it."""
    options = app.spec.sync_policy.sync_options if app.spec.sync_policy else ()
    touched = (*outlook.differing, *outlook.extra) if heals else ()
    return Operation(
        sync=SyncOperation(
            revision=outlook.revision,
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


def _skip(reason: Reason, message: str) -> Skip:
    return Skip(reason=reason, message=message)


def _error(reason: Reason, message: str) -> Skip:
    return Skip(reason=reason, message=message, is_error=True)
