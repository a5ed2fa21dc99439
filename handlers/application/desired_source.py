"""The desired source: which source and revision an Application is to be rendered from now. Pure.

An operation *pins* the revision that it names, and the source where it names one (a rollback
restores both), while it is requested or runs. Without a pin the spec holds. The pin ends with the
operation, so a later push is not held up by it. An automated sync that has failed and waits for its
retry pins nothing, because a newer commit may well be the remedy.
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
    """The revision that the operation under way, else the requested one, names; empty for none."""
    sync = _pinning(app)
    return sync.revision if sync else ""


def as_desired(app: Application) -> Application:
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
    """The sync that pins source and revision now."""
    state = app.status.operation_state
    if state is not None and state.phase in _UNDER_WAY:
        if state.finished_at and state.operation.initiated_by.automated:
            return None
        return state.operation.sync
    return app.operation.sync if app.operation is not None else None


def desired_revision(app: Application) -> str:
    """The pinned revision, else the target revision of the source."""
    target = app.source.target_revision if app.source else ""
    return pinned_revision(app) or target
