"""SyncPlan: the order of a sync as steps, each a phase and wave whose objects go together. Pure.

The order is Argo CD's: phase, wave, kind, name. Then what others need is moved forward: a Namespace
to the first object in it, a CustomResourceDefinition to a step of its own before the first object
of its kind, perhaps into PreSync. Prunes run through the waves backwards. Hooks of SyncFail are no
part of the way: all of them are one step, for the case that the way fails. The plan is a pure
function of the tasks, so that it is the same again after a restart; which step is due is
`operation`'s question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from bus.identity import ResourceKey
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import Hook
from handlers.manifest.kinds import GroupKind, defined_by
from handlers.manifest.order import kind_rank


class SyncAction(StrEnum):
    APPLY = "apply"
    PRUNE = "prune"


class SyncPhase(StrEnum):
    PRE_SYNC = "PreSync"
    SYNC = "Sync"
    POST_SYNC = "PostSync"
    SYNC_FAIL = "SyncFail"


class TaskId(NamedTuple):
    """A task in its operation: one object may be a hook in several phases."""

    phase: str
    key: ResourceKey


class SyncTask(msgspec.Struct, frozen=True, kw_only=True):
    """One object to bring into the cluster or to remove from it."""

    action: SyncAction
    key: ResourceKey
    version: str = ""
    manifest: Manifest = {}
    """What is applied; empty for a prune."""
    phase: SyncPhase = SyncPhase.SYNC
    wave: int = 0
    prune_last: bool = False
    unconfirmed: bool = False
    """A prune that waits for a person's approval."""
    changed: bool = True
    """False: live equals desired, nothing is sent."""
    hook: Hook | None = None
    """None for an object of the desired state."""
    yields: bool = False
    """What other managers hold stays theirs, and the object is never replaced or deleted."""

    @property
    def id(self) -> TaskId:
        return TaskId(self.phase, self.key)


class SyncStep(msgspec.Struct, frozen=True, kw_only=True):
    """The objects of one phase and wave: prunes first, then groups of one kind, one by one."""

    phase: SyncPhase
    wave: int
    applies: tuple[tuple[SyncTask, ...], ...] = ()
    prunes: tuple[SyncTask, ...] = ()

    @property
    def tasks(self) -> tuple[SyncTask, ...]:
        return (*self.prunes, *(task for group in self.applies for task in group))


Slot = tuple[int, int, int]
"""Phase, wave, and 0 for definitions that others of the wave need, else 1."""

_PHASE_RANK = {phase: rank for rank, phase in enumerate(SyncPhase)}


def plan(tasks: Iterable[SyncTask]) -> tuple[SyncStep, ...]:
    """Order tasks, but those of SyncFail; the same tasks give the same plan."""
    all_tasks = tuple(task for task in tasks if task.phase is not SyncPhase.SYNC_FAIL)
    applies = [task for task in all_tasks if task.action is SyncAction.APPLY]
    users = _first_users(applies)
    slots: dict[Slot, list[SyncTask]] = {}
    for task in applies:
        placed, slot = _place(task, users)
        slots.setdefault(slot, []).append(placed)
    for task in _reversed_waves(
        [task for task in all_tasks if task.action is SyncAction.PRUNE], applies
    ):
        slots.setdefault(_slot(task), []).append(task)
    return tuple(_step(slots[slot]) for slot in sorted(slots))


def failure_step(tasks: Iterable[SyncTask]) -> SyncStep | None:
    """Join the hooks of SyncFail, of all waves, in one step; None where there are none."""
    found = [task for task in tasks if task.phase is SyncPhase.SYNC_FAIL]
    return _step(found) if found else None


Place = tuple[int, int]
"""Rank of the phase, and wave."""
Users = Mapping[GroupKind | str, Place]


def _first_users(applies: Iterable[SyncTask]) -> Users:
    """The first place that needs a kind, and the first that needs a namespace (by its name)."""
    first: dict[GroupKind | str, Place] = {}
    for task in applies:
        place = _place_of(task)
        for needed in (GroupKind(task.key.group, task.key.kind), task.key.namespace):
            first[needed] = min(place, first.get(needed, place))
    return first


def _place(task: SyncTask, users: Users) -> tuple[SyncTask, Slot]:
    if task.hook is not None:
        return task, _slot(task)
    if task.key.kind == "Namespace" and not task.key.group:
        moved = _moved(task, users.get(task.key.name, _place_of(task)))
        return moved, _slot(moved)
    needed = [
        users[kind.group_kind] for kind in defined_by(task.manifest) if kind.group_kind in users
    ]
    if not needed:
        return task, _slot(task)
    moved = _moved(task, *needed)
    return moved, (*_slot(moved)[:2], 0)


def _moved(task: SyncTask, *places: Place) -> SyncTask:
    """Move the task to the first of the places, unless it comes earlier anyway."""
    rank, wave = min(_place_of(task), *places)
    return replace(task, phase=tuple(SyncPhase)[rank], wave=wave)


def _place_of(task: SyncTask) -> Place:
    return (_PHASE_RANK[task.phase], task.wave)


def _slot(task: SyncTask) -> Slot:
    return (*_place_of(task), 1)


def _reversed_waves(prunes: Sequence[SyncTask], applies: Sequence[SyncTask]) -> list[SyncTask]:
    """What was applied last goes first: the distinct waves of the prunes change places."""
    ordinary = [task for task in prunes if not task.prune_last]
    waves = sorted({task.wave for task in ordinary})
    mirrored = dict(zip(waves, reversed(waves), strict=True))
    syncing = (task.wave for task in (*applies, *ordinary) if task.phase is SyncPhase.SYNC)
    last = max((0, *syncing)) + 1
    return [replace(task, wave=last if task.prune_last else mirrored[task.wave]) for task in prunes]


def _step(tasks: Sequence[SyncTask]) -> SyncStep:
    applies = sorted((task for task in tasks if task.action is SyncAction.APPLY), key=_order)
    prunes = sorted((task for task in tasks if task.action is SyncAction.PRUNE), key=_order)
    groups = groupby(applies, key=lambda task: (task.key.group, task.key.kind))
    return SyncStep(
        phase=tasks[0].phase,
        wave=tasks[0].wave,
        applies=tuple(tuple(group) for _, group in groups),
        prunes=tuple(reversed(prunes)),
    )


def _order(task: SyncTask) -> tuple[int, str, str, str, str]:
    """Kind order, then the kind itself, so that a group is one kind; then name."""
    key = task.key
    return (kind_rank(key.kind), key.kind, key.group, key.name, key.namespace)
