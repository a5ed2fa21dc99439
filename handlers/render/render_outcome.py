"""The outcome of a render as facts and as conditions of the Application. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from bus.events import ManifestsRendered, RenderFailed
from bus.identity import Revision
from bus.status import ConditionType, Reason, SyncStatus
from handlers.application.application import REFRESH_ANNOTATION, Application
from handlers.application.hydration_status import hydration_conditions
from handlers.application.status import ApplicationStatus, Condition, revised
from handlers.ports import DestinationUnavailableError, RepositoryError
from handlers.ports.render_record import RenderRecord
from handlers.ports.rendering import RenderError
from handlers.render.source_proof import UnprovenError

_OWNED = (
    ConditionType.COMPARISON_ERROR,
    ConditionType.INVALID_SPEC_ERROR,
    ConditionType.REPEATED_RESOURCE_WARNING,
    ConditionType.HYDRATION_ERROR,
)
_ERRORS = (ConditionType.COMPARISON_ERROR, ConditionType.INVALID_SPEC_ERROR)


def asked_refresh(app: Application) -> str:
    """The value of the refresh annotation that a person set: `normal`, `hard`, or nothing."""
    return app.metadata.annotations.get(REFRESH_ANNOTATION, "")


def with_conditions(
    app: Application, conditions: tuple[Condition, ...], now: str
) -> ApplicationStatus:
    """The status with these conditions; with an error among them the sync status is Unknown."""
    found = (*conditions, *hydration_conditions(app))
    status = replace(app.status, conditions=revised(app.status.conditions, _OWNED, found, now))
    if not any(one.type in _ERRORS for one in conditions):
        return status
    return replace(status, sync=replace(status.sync, status=SyncStatus.UNKNOWN))


def condition_of(error: RepositoryError | RenderError) -> Condition:
    return Condition(type=ConditionType.COMPARISON_ERROR, message=message_of(error))


def repeated(record: RenderRecord) -> tuple[Condition, ...]:
    """Warn of the objects that several sources have."""
    type_ = ConditionType.REPEATED_RESOURCE_WARNING
    return tuple(Condition(type=type_, message=one) for one in record.repeated)


def rendered(app: Application, record: RenderRecord, *, cached: bool) -> ManifestsRendered:
    return ManifestsRendered(
        app=app.key,
        project=app.spec.project,
        revision=record.revision,
        revisions=record.revisions.in_fact,
        digest=record.digest,
        objects=record.objects,
        cached=cached,
    )


def refused(app: Application, conditions: tuple[Condition, ...]) -> RenderFailed:
    message = "; ".join(one.message for one in conditions)
    return RenderFailed(
        app=app.key, project=app.spec.project, reason=Reason.INVALID_SPEC, message=message
    )


def unreachable(error: DestinationUnavailableError) -> Condition:
    return Condition(type=ConditionType.COMPARISON_ERROR, message=error.message)


def cut_off(app: Application, error: DestinationUnavailableError) -> RenderFailed:
    """The fact that nothing is rendered while the destination cluster cannot be reached."""
    return RenderFailed(
        app=app.key,
        project=app.spec.project,
        reason=Reason.CLUSTER_UNREACHABLE,
        message=error.message,
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
    if isinstance(error, UnprovenError):
        return replace(fact, unproven=error.unproven)
    return replace(fact, file=error.file, line=error.line)


def message_of(error: RepositoryError | RenderError) -> str:
    """The message, with the file and line in front where the message does not name the file."""
    if isinstance(error, RepositoryError) or not error.file or error.file in error.message:
        return error.message
    place = f"{error.file}:{error.line}" if error.line else error.file
    return f"{place}: {error.message}"
