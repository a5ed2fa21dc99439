"""Touched applications: which ones a repository concerns, when to retry after an error. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

import msgspec

from bus.identity import AppKey, RepositoryKey, Revision
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application, repository_of
from handlers.application.status import of_type
from handlers.ports import CommitTree, SourceFollowers
from handlers.ports.rendering import RenderRecord
from handlers.render.read_set import holds
from handlers.render.recipes import names_revision


class ResolvedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What a target revision of a repository means now, with the files there."""

    repository: RepositoryKey
    target: str
    revision: Revision
    tree: CommitTree


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
    if record is None or not _is_of(record, app, repository):
        return True
    conditions = app.status.conditions
    return bool(conditions and of_type(conditions, ConditionType.COMPARISON_ERROR))


def _is_of(record: RenderRecord, app: Application, repository: RepositoryKey) -> bool:
    """Whether each source of the repository was rendered from there."""
    sources = app.sources
    if len(record.sources) != len(sources):
        return False
    known = [one.repository == repository for one in record.sources]
    return any(known) and (
        len(sources) == 1 or known == [repository_of(one) == repository for one in sources]
    )


def outdated(app: Application, record: RenderRecord, now: ResolvedTarget) -> bool:
    """Whether the render read files that differ in this commit, or names another commit's id.

    Asked of the sources that follow the target, and of those that read their files by a ref.
    """
    for source, known in zip(app.sources, record.sources, strict=False):
        if known.repository != now.repository or source.target_revision != now.target:
            continue
        if known.recipe and known.revision != now.revision and names_revision(source):
            return True
        if not holds(known.read_set, now.tree):
            return True
        if source.ref and not all(holds(one, now.tree) for one in _read_by(record, source.ref)):
            return True
    return False


def _read_by(record: RenderRecord, ref: str) -> Iterator[Mapping[str, str]]:
    """The read sets of the sources that read files by the ref."""
    return (one.refs[ref].read_set for one in record.sources if ref in one.refs)


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
