"""What is said about a render, good or not: facts, and conditions of the application."""

from __future__ import annotations

from msgspec.structs import replace

from bus.events import ManifestsRendered, RenderFailed
from bus.identity import Revision
from bus.status import ConditionType, Reason, SyncStatus
from handlers.application.application import REFRESH_ANNOTATION, Application
from handlers.application.conditions import revised
from handlers.application.status import ApplicationStatus, Condition
from handlers.ports import RepositoryError
from handlers.render.recipe import RenderError, RenderRecord

_OWNED = (ConditionType.COMPARISON_ERROR, ConditionType.INVALID_SPEC_ERROR)


def asked_refresh(app: Application) -> str:
    """`normal`, `hard`, or nothing: the annotation that a person set."""
    return app.metadata.annotations.get(REFRESH_ANNOTATION, "")


def status_saying(app: Application, found: tuple[Condition, ...], now: str) -> ApplicationStatus:
    """The status with these conditions in the place of ours; unknown is what cannot be rendered."""
    status = replace(app.status, conditions=revised(app.status.conditions, _OWNED, found, now))
    if not found:
        return status
    return replace(status, sync=replace(status.sync, status=SyncStatus.UNKNOWN))


def condition_of(error: RepositoryError | RenderError) -> Condition:
    return Condition(type=ConditionType.COMPARISON_ERROR, message=message_of(error))


def rendered(app: Application, record: RenderRecord, *, cached: bool) -> ManifestsRendered:
    return ManifestsRendered(
        app=app.key,
        project=app.spec.project,
        revision=record.revision,
        digest=record.digest,
        objects=record.objects,
        cached=cached,
    )


def refused(app: Application, found: tuple[Condition, ...]) -> RenderFailed:
    message = "; ".join(one.message for one in found)
    return RenderFailed(
        app=app.key, project=app.spec.project, reason=Reason.INVALID_SPEC, message=message
    )


def failed(
    app: Application, error: RepositoryError | RenderError, revision: Revision
) -> RenderFailed:
    fact = RenderFailed(
        app=app.key,
        project=app.spec.project,
        reason=error.reason,
        message=message_of(error),
        revision=revision,
    )
    if isinstance(error, RepositoryError):
        return fact
    return replace(fact, file=error.file, line=error.line)


def message_of(error: RepositoryError | RenderError) -> str:
    """With the place in front where the sentence does not name it."""
    if isinstance(error, RepositoryError) or not error.file or error.file in error.message:
        return error.message
    place = f"{error.file}:{error.line}" if error.line else error.file
    return f"{place}: {error.message}"
