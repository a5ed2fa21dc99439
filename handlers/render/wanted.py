"""Which source and which revision an application wants right now.

While a sync to a chosen commit is asked for or runs, that commit, and the source that the operation
names where it names one (a rollback restores both); else what the spec says. The pin ends with the
operation, so a later push is not held up by it; nor is it by an automated sync that has failed and
waits for its next try, because the push may well be the remedy.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from bus.identity import digest_of
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.spec import SyncOperation

_UNDER_WAY = (OperationPhase.RUNNING, OperationPhase.TERMINATING)


def pinned_revision(app: Application) -> str:
    """The revision that the operation under way, else the one asked for, names; empty for none."""
    sync = _pinning(app)
    return sync.revision if sync else ""


def as_wanted(app: Application) -> Application:
    """The Application with the source that the operation names in place of its own."""
    sync = _pinning(app)
    if sync is None or sync.source is None:
        return app
    return replace(app, spec=replace(app.spec, source=sync.source, sources=()))


def pinned_source(app: Application) -> str:
    """The digest of the source that the operation names; empty where it names none."""
    sync = _pinning(app)
    if sync is None or sync.source is None:
        return ""
    return digest_of(msgspec.json.encode(sync.source, order="deterministic"))


def _pinning(app: Application) -> SyncOperation | None:
    state = app.status.operation_state
    if state is not None and state.phase in _UNDER_WAY:
        if state.finished_at and state.operation.initiated_by.automated:
            return None
        return state.operation.sync
    return app.operation.sync if app.operation is not None else None


def wanted_revision(app: Application) -> str:
    target = app.source.target_revision if app.source else ""
    return pinned_revision(app) or target
