"""What a change of an Application asks for; a pure function of what it was and what it is.

The generation is of no use here: Argo CD's definition has no status subresource, so it grows with
every status write too. The parts that matter are compared instead, and a write of ours, which sets
the status and takes the refresh annotation and `.operation` away, says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from bus.events import AppDeleted, DeleteApp, Event, RefreshApp, StepOperation
from bus.status import OperationPhase
from handlers.application.application import Application, AppProject
from handlers.render.outcome import asked_refresh

HARD = "hard"


def asks_for(before: Application | None, after: Application | None) -> tuple[Event, ...]:
    """`None`: not there. An Application first seen (also at each start) is looked at as a whole."""
    if after is None:
        return ()
    if after.deleting:
        return (DeleteApp(app=after.key),) if _deletion_changed(before, after) else ()
    return (*_refresh(before, after), *_step(before, after))


def asks_for_project(
    before: AppProject | None, after: AppProject | None, apps: Iterable[Application]
) -> tuple[RefreshApp, ...]:
    """Who lives by the rules of a project that changed: what it denied may be permitted now."""
    project = after or before
    if project is None or (before and after and before.spec == after.spec):
        return ()
    name = project.metadata.name
    mine = (app for app in apps if (app.spec.project or "default") == name)
    return tuple(RefreshApp(app=app.key) for app in mine if not app.deleting)


def goodbye(before: Application | None, after: Application | None) -> tuple[AppDeleted, ...]:
    """Of an Application that went at once; of one with our finalizer the room says it."""
    if before is None or before.deleting or after is not None:
        return ()
    return (AppDeleted(app=before.key, project=before.spec.project),)


def _deletion_changed(before: Application | None, after: Application) -> bool:
    if before is None or not before.deleting:
        return True
    return before.metadata.finalizers != after.metadata.finalizers


def _refresh(before: Application | None, after: Application) -> Iterator[Event]:
    wanted = asked_refresh(after)
    asked = bool(wanted) and (before is None or asked_refresh(before) != wanted)
    if before is None or before.spec != after.spec or asked:
        yield RefreshApp(app=after.key, hard=asked and wanted == HARD)


def _step(before: Application | None, after: Application) -> Iterator[Event]:
    asked = after.operation is not None and (before is None or before.operation != after.operation)
    terminated = _phase(after) == OperationPhase.TERMINATING != _phase(before)
    resumed = before is None and _phase(after) == OperationPhase.RUNNING
    if asked or terminated or resumed:
        yield StepOperation(app=after.key)


def _phase(app: Application | None) -> str:
    state = app.status.operation_state if app else None
    return state.phase if state else ""
