"""The desired source: which sources and revisions an Application is to be rendered from now. Pure.

An operation *pins* the revisions that it names, and the sources where it names them (a rollback
restores both), while it is requested or runs. Without a pin the spec holds. The pin ends with the
operation, so a later push is not held up by it. An automated sync that has failed and waits for its
retry pins nothing, because a newer commit may well be the remedy.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from bus.identity import digest_of
from bus.status import OperationPhase
from handlers.application.application import Application
from handlers.application.revisions import targets_of
from handlers.application.spec import ApplicationSpec, Source, SyncOperation
from handlers.application.status import OperationState

_UNDER_WAY = (OperationPhase.RUNNING, OperationPhase.TERMINATING)


class PinnedSources(msgspec.Struct, frozen=True, omit_defaults=True):
    """The sources that an operation names in place of the spec's: of one field or the other."""

    source: Source | None = None
    sources: tuple[Source, ...] = ()


def pinned_revisions(app: Application) -> tuple[str, ...]:
    """The revisions that the operation under way, else the requested one, names; empty for none.

    One for each source, in their order; an empty text stands for the target revision of its source.
    """
    sync = _pinning(app)
    if sync is None:
        return ()
    return sync.revisions or ((sync.revision,) if sync.revision else ())


def as_desired(app: Application) -> Application:
    """The Application with the sources that the operation names in place of its own."""
    pinned = _pinned_sources(app)
    if pinned is None:
        return app
    return replace(app, spec=replace(app.spec, source=pinned.source, sources=pinned.sources))


def pinned_source(app: Application) -> str:
    """The digest of the sources that the operation names; empty where it names none.

    Ask it of the Application as it is stored, not of what `as_desired` made of it.
    """
    pinned = _pinned_sources(app)
    if pinned is None:
        return ""
    return digest_of(msgspec.json.encode(pinned, order="deterministic"))


def desired_sources(app: Application) -> str:
    """The digest of the sources from which the Application is to be rendered now."""
    spec = as_desired(app).spec
    wanted = PinnedSources(None if spec.sources else spec.source, spec.sources)
    return digest_of(msgspec.json.encode(wanted, order="deterministic"))


def desired_revisions(app: Application) -> tuple[str, ...]:
    """The pinned revisions, else the target revisions, one for each source of `as_desired`."""
    return targets_of(pinned_revisions(app), app.sources)


def _pinned_sources(app: Application) -> PinnedSources | None:
    sync = _pinning(app)
    if sync is None:
        return None
    if sync.sources:
        return PinnedSources(sources=sync.sources)
    if sync.source is not None:
        return PinnedSources(source=sync.source)
    state = app.status.operation_state
    if state is None or state.operation.sync is not sync or not are_moved(app.spec, state):
        return None
    return _began_with(state)


def are_moved(spec: ApplicationSpec, state: OperationState) -> bool:
    """Whether sources came, went or changed, so that the operation's revisions fit no more.

    Target revisions do not matter: the revisions are named.
    """
    sync, result = state.operation.sync, state.sync_result
    if sync is None or not sync.revisions:
        return bool(sync and sync.revision and spec.sources)
    began = result.sources if result is not None else ()
    return len(sync.revisions) != len(spec.sources) or _untargeted(began) != _untargeted(
        spec.sources
    )


def _untargeted(sources: Sequence[Source]) -> list[Source]:
    return [replace(one, target_revision="", tag_prefix="") for one in sources]


def _began_with(state: OperationState) -> PinnedSources | None:
    result = state.sync_result
    if result is None or not (result.source or result.sources):
        return None
    return PinnedSources(result.source, result.sources)


def _pinning(app: Application) -> SyncOperation | None:
    """The sync that pins sources and revisions now."""
    state = app.status.operation_state
    if state is not None and state.phase in _UNDER_WAY:
        if state.finished_at and state.operation.initiated_by.automated:
            return None
        return state.operation.sync
    return app.operation.sync if app.operation is not None else None
