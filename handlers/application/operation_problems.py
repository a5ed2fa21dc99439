"""Operation problems: why a requested operation cannot be done as it is written. Pure.

To deploy something else than what was asked for would be worse than nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from handlers.application.application import Application
from handlers.application.desired_source import as_desired
from handlers.application.revisions import Revisions
from handlers.application.spec import Operation, Source, SyncOperation
from handlers.application.status import ApplicationStatus


def operation_problem(app: Application, operation: Operation) -> str:
    """Say why the operation cannot be done; empty where it can."""
    sync = operation.sync
    if sync is None:
        return "operation.sync is missing; only syncs are supported"
    if sync.manifests:
        return "operation.sync.manifests: a sync of local manifests is not supported"
    if sync.source and sync.sources:
        return "operation.sync has source and sources; expected one of them"
    if problem := _source_problem(app, sync):
        return problem
    wanted = as_desired(replace(app, operation=operation, status=ApplicationStatus()))
    problem = revisions_problem(wanted, Revisions.of(sync))
    return problem and f"operation.sync: {problem}"


def revisions_problem(app: Application, named: Revisions) -> str:
    """Say why the named revisions do not fit the sources; empty where they do."""
    several = len(app.spec.sources)
    if named.revisions and not several:
        return "the application has spec.source: name its one revision in revision, not revisions"
    if named.revisions and len(named.revisions) != several:
        return (
            f"{len(named.revisions)} revisions for {several} sources; name one for each, in their "
            "order, and an empty text for the target revision of a source"
        )
    if named.revision and several:
        return (
            f"the application has {several} sources: name one revision for each in revisions, "
            "and an empty text for the target revision of a source"
        )
    return ""


def _source_problem(app: Application, sync: SyncOperation) -> str:
    """Refuse sources other than the spec's, but for those in the history: a rollback names them."""
    field = "sources" if sync.sources else "source"
    wanted = sync.sources or ((sync.source,) if sync.source else ())
    if not wanted or not app.sources:
        return ""
    several = bool(app.spec.sources)
    if several == bool(sync.sources) and _are_same(wanted, app.sources):
        return ""
    if any(_deployed(one.source, one.sources) == wanted for one in app.status.history):
        return ""
    return (
        f"operation.sync.{field}: expected the {field} of the spec, or those of an entry of"
        " status.history that was deployed before"
    )


def _deployed(source: Source | None, sources: tuple[Source, ...]) -> tuple[Source, ...]:
    return sources or ((source,) if source else ())


def _are_same(wanted: Sequence[Source], own: Sequence[Source]) -> bool:
    """Whether they differ in their target revisions at most."""
    if len(wanted) != len(own):
        return False
    pairs = zip(wanted, own, strict=True)
    return all(replace(it, target_revision=one.target_revision) == one for it, one in pairs)
