"""Which revision an application wants right now.

While a sync to a chosen commit is asked for or runs, that commit; else what the source says. The
pin ends with the operation, so a later push is not held up by it; nor is it by an automated sync
that has failed and waits for its next try, because the push may well be the remedy.
"""

from __future__ import annotations

from bus.status import OperationPhase
from handlers.application.application import Application

_UNDER_WAY = (OperationPhase.RUNNING, OperationPhase.TERMINATING)


def pinned_revision(app: Application) -> str:
    """The revision that the operation under way, else the one asked for, names; empty for none."""
    state = app.status.operation_state
    if state is not None and state.phase in _UNDER_WAY:
        if state.finished_at and state.operation.initiated_by.automated:
            return ""
        return state.operation.sync.revision if state.operation.sync else ""
    if app.operation is not None and app.operation.sync is not None:
        return app.operation.sync.revision
    return ""


def wanted_revision(app: Application) -> str:
    target = app.source.target_revision if app.source else ""
    return pinned_revision(app) or target
