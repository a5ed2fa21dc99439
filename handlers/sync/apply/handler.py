"""Carrying out one step: one server-side apply per changed object, none for an unchanged one.

Kinds go one after the other, objects of a kind at once. A refusal is the object's result and stops
nobody else. An object is first applied without force, so that another manager of its fields is seen
and named; then the fields are taken over, because Git decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.status import ResultStatus
from handlers.application.application import Application
from handlers.application.status import ResourceResult
from handlers.compare.normalise import sent
from handlers.compare.worlds.handler import gathered
from handlers.control_plane.governance import Governance
from handlers.manifest.options import SyncOptions, sync_options_of
from handlers.ports import (
    ApplyOptions,
    ApplyRefusedError,
    Cluster,
    ClusterUnreachableError,
    LiveState,
)
from handlers.sync.operation import Act
from handlers.sync.plan import Action, Task
from handlers.sync.results import result

_AT_ONCE = 8
_CONFLICT = 409


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """How an operation wants its objects applied."""

    app: Application
    options: SyncOptions
    dry_run: bool = False
    patient: bool = True
    """Objects that may be accepted a moment later are left without a result, to be tried again."""


@dataclass(frozen=True, slots=True)
class Later:
    """Why an object has no result yet."""

    task: Task
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    results: tuple[ResourceResult, ...]
    later: tuple[Later, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Applier:
    cluster: Cluster
    live: LiveState
    governance: Governance

    async def carry_out(self, act: Act, orders: Orders) -> Carried:
        """Raises ClusterUnreachableError; what was sent until then is found unchanged next time."""
        at_once = asyncio.Semaphore(_AT_ONCE)
        results: list[ResourceResult] = []
        later: list[Later] = []
        for group in _groups(act):
            for said in await gathered(self._one(task, orders, at_once) for task in group):
                match said:
                    case ClusterUnreachableError():
                        raise said
                    case Later():
                        later.append(said)
                    case _:
                        results.append(said)
        return Carried(results=tuple(results), later=tuple(later))

    async def _one(
        self, task: Task, orders: Orders, at_once: asyncio.Semaphore
    ) -> ResourceResult | Later | ClusterUnreachableError:
        """Errors are values here, so that no object takes its neighbours with it."""
        async with at_once:
            try:
                if task.action is Action.PRUNE:
                    return await self._prune(task, orders)
                return await self._apply(task, orders)
            except ClusterUnreachableError as error:
                return error
            except ApplyRefusedError as error:
                return _refused(task, error, orders)

    async def _apply(self, task: Task, orders: Orders) -> ResourceResult:
        if not task.changed:
            return result(task, ResultStatus.SYNCED, "unchanged")
        done = "created" if self.live.get(task.key) is None else "configured"
        message = done + await self._send(task, orders)
        return result(task, ResultStatus.SYNCED, _tried(message, orders))

    async def _send(self, task: Task, orders: Orders) -> str:
        """What is to be said about it: whose fields were taken over, if anybody's."""
        options = sync_options_of(task.manifest, orders.options)
        how = ApplyOptions(
            dry_run=orders.dry_run,
            force_conflicts=False,
            replace=options.replace,
            validate=options.validate,
            take_over=options.client_side_apply_migration,
        )
        manifest = self.governance.sent(orders.app, task.key, sent(task.manifest))
        try:
            await self.cluster.apply(manifest, how)
        except ApplyRefusedError as error:
            if error.code != _CONFLICT or not error.permanent or options.replace:
                raise
            forced = replace(how, force_conflicts=True)
            await self.cluster.apply(manifest, forced)
            return f", took fields over: {error.message}"
        return ""

    async def _prune(self, task: Task, orders: Orders) -> ResourceResult:
        live = self.live.get(task.key)
        if live is not None and not live.deleting and not orders.dry_run:
            propagation = orders.options.prune_propagation
            await self.cluster.delete(live, propagation=propagation.value)
        return result(task, ResultStatus.PRUNED, _tried("pruned", orders))


def _groups(act: Act) -> Sequence[tuple[Task, ...]]:
    """Prunes, then one kind after the other; only what has no result yet."""
    wanted = {task.key for task in act.tasks}
    groups = (act.step.prunes, *act.step.applies)
    return [tuple(task for task in group if task.key in wanted) for group in groups]


def _refused(task: Task, error: ApplyRefusedError, orders: Orders) -> ResourceResult | Later:
    if error.permanent:
        return result(task, ResultStatus.SYNC_FAILED, error.message)
    if orders.dry_run:
        return result(task, ResultStatus.SYNCED, f"not tried yet: {error.message} (dry run)")
    if orders.patient:
        return Later(task, error.message)
    return result(task, ResultStatus.SYNC_FAILED, error.message)


def _tried(message: str, orders: Orders) -> str:
    return f"{message} (dry run)" if orders.dry_run else message
