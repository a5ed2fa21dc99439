"""Applier: carries out one step with one server-side apply per changed object.

Kinds go one after the other, objects of a kind at once; an unchanged object costs no call. A
refusal is the result of its object and does not stop the others. How one object is sent is
`object_sender`'s question.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.status import OperationPhase, ResultStatus
from handlers.application.application import Application
from handlers.application.status import ResourceResult
from handlers.comparison.dry_runs import gathered
from handlers.comparison.normalised_objects import sent
from handlers.control_plane.governance import Governance
from handlers.manifest.access import mapping
from handlers.manifest.options import SyncOptions, sync_options_of, with_live_options
from handlers.ports import (
    ApplyRefusedError,
    ClusterUnreachableError,
    ClusterWriter,
    DestinationSession,
)
from handlers.sync.move import Act
from handlers.sync.object_sender import ObjectSender, ObjectToSend
from handlers.sync.operation_results import result
from handlers.sync.sync_plan import SyncAction, SyncTask

_AT_ONCE = 8
_PREFIX = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """The options with which an operation applies its objects."""

    app: Application
    session: DestinationSession
    """Of the destination of the application."""
    writer: ClusterWriter
    """As the account that its project names."""
    options: SyncOptions
    dry_run: bool = False
    may_retry: bool = True
    """Leave an object without a result where the server may accept it a moment later."""


@dataclass(frozen=True, slots=True)
class UnresolvedObject:
    """An object without a result yet, and why."""

    task: SyncTask
    message: str
    is_going: bool = False
    """Whether it waits for the end of its deletion, which may take as long as it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepOutcome:
    results: tuple[ResourceResult, ...]
    unresolved: tuple[UnresolvedObject, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Applier:
    governance: Governance

    async def apply(self, act: Act, request: ApplyRequest) -> StepOutcome:
        """Raises ClusterUnreachableError; the next call finds what was sent before unchanged."""
        at_once = asyncio.Semaphore(_AT_ONCE)
        results: list[ResourceResult] = []
        unresolved: list[UnresolvedObject] = []
        for group in _groups(act):
            for one in await gathered(self._one(task, request, at_once) for task in group):
                match one:
                    case ClusterUnreachableError():
                        raise one
                    case UnresolvedObject():
                        unresolved.append(one)
                    case _:
                        results.append(one)
        return StepOutcome(results=tuple(results), unresolved=tuple(unresolved))

    async def _one(
        self, task: SyncTask, request: ApplyRequest, at_once: asyncio.Semaphore
    ) -> ResourceResult | UnresolvedObject | ClusterUnreachableError:
        """Apply or prune one object; an error is a value, so that the others of its kind go on."""
        async with at_once:
            try:
                if task.action is SyncAction.PRUNE:
                    return await self._prune(task, request)
                return await self._apply(task, request)
            except ClusterUnreachableError as error:
                return error
            except ApplyRefusedError as error:
                return _refused(task, error, request)

    async def _apply(
        self, task: SyncTask, request: ApplyRequest
    ) -> ResourceResult | UnresolvedObject:
        if not task.changed:
            return result(task, ResultStatus.SYNCED, "unchanged")
        live = request.session.live.get(task.key)
        if task.hook is not None and request.dry_run:
            task, live = _renamed(task), None
        options = sync_options_of(task.manifest, request.options)
        if live is not None and live.body:
            options = with_live_options(options, task.manifest, live.manifest)
        sender = ObjectSender(cluster=request.writer, live=request.session.live)
        sending = await sender.send(
            ObjectToSend(
                key=task.key,
                version=task.version,
                manifest=self.governance.sent(request.app, task.key, sent(task.manifest)),
                options=options,
                dry_run=request.dry_run,
                yields=task.yields,
            )
        )
        if sending.is_pending:
            return UnresolvedObject(task, "it is deleted, to be created anew", is_going=True)
        done = "created" if live is None else "configured"
        # A hook that is only tried does not run, so there is no end of it to wait for.
        hook_phase = OperationPhase.SUCCEEDED if task.hook and request.dry_run else None
        message = _tried(done + sending.remark, request)
        return result(task, ResultStatus.SYNCED, message, hook_phase)

    async def _prune(self, task: SyncTask, request: ApplyRequest) -> ResourceResult:
        live = request.session.live.get(task.key)
        if live is not None and not live.deleting and not request.dry_run:
            propagation = request.options.prune_propagation
            await request.writer.delete(live, propagation=propagation.value)
        return result(task, ResultStatus.PRUNED, _tried("pruned", request))


def _groups(act: Act) -> Sequence[tuple[SyncTask, ...]]:
    """The prunes, then one kind after the other; only objects that have no result yet."""
    untried = {task.key for task in act.tasks}
    groups = (act.step.prunes, *act.step.applies)
    return [tuple(task for task in group if task.key in untried) for group in groups]


def _refused(
    task: SyncTask, error: ApplyRefusedError, request: ApplyRequest
) -> ResourceResult | UnresolvedObject:
    if error.permanent:
        return result(task, ResultStatus.SYNC_FAILED, error.message)
    if request.dry_run:
        return result(task, ResultStatus.SYNCED, f"not tried yet: {error.message} (dry run)")
    if request.may_retry:
        return UnresolvedObject(task, error.message)
    return result(task, ResultStatus.SYNC_FAILED, error.message)


def _renamed(task: SyncTask) -> SyncTask:
    """Try a hook under a name that nobody has: an older one of its own name would be gone first."""
    metadata = {key: it for key, it in mapping(task.manifest, "metadata").items() if key != "name"}
    metadata["generateName"] = f"{task.key.name[:_PREFIX]}-"
    return replace(task, manifest={**task.manifest, "metadata": metadata})


def _tried(message: str, request: ApplyRequest) -> str:
    return f"{message} (dry run)" if request.dry_run else message
