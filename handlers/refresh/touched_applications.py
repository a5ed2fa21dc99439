"""Touched applications: which ones a repository concerns, when to retry after an error. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from bus.identity import AppKey, RepositoryKey, Revision
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application
from handlers.application.status import of_type
from handlers.ports import CommitTree, SourceFollowers
from handlers.ports.rendering import RenderRecord
from handlers.render.read_set import holds
from handlers.render.recipes import names_revision

SHORTEST_WAIT = 2.0
LONGEST_WAIT = 180.0


def by_target_revision(followers: Iterable[SourceFollowers]) -> Mapping[str, frozenset[AppKey]]:
    """Group Applications by the target revision that their source follows."""
    found: dict[str, frozenset[AppKey]] = {}
    for group, apps in followers:
        found[group.target_revision] = found.get(group.target_revision, frozenset()) | apps
    return found


def unsettled(app: Application, record: RenderRecord | None, repository: RepositoryKey) -> bool:
    """Whether to render again whatever a commit touched: never rendered, elsewhere, or in error."""
    if record is None or record.repository != repository:
        return True
    conditions = app.status.conditions
    return bool(conditions and of_type(conditions, ConditionType.COMPARISON_ERROR))


def depends_on_commit(app: Application) -> bool:
    """Whether the source uses the commit's id by way of the build environment."""
    return (source := app.source) is not None and names_revision(source)


def outdated(app: Application, record: RenderRecord, now: tuple[Revision, CommitTree]) -> bool:
    """Whether the render read files that differ in this commit, or names another commit's id."""
    revision, tree = now
    if record.revision != revision and depends_on_commit(app):
        return True
    return not holds(record.read_set, tree)


def wait(apps: Iterable[Application], message: str, now: datetime) -> float:
    """Seconds until the next try: as long as it has been failing so far, within bounds.

    The begin is read from the conditions with this message, so a restart forgets nothing.
    """
    begun = (
        times.since(one.last_transition_time, now)
        for app in apps
        for one in of_type(app.status.conditions, ConditionType.COMPARISON_ERROR)
        if one.message == message
    )
    longest = max((seconds for seconds in begun if seconds is not None), default=0.0)
    return min(max(longest, SHORTEST_WAIT), LONGEST_WAIT)
