"""Touched applications: which ones a repository concerns. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from bus.identity import AppKey, RepositoryKey, Revision
from bus.status import ConditionType
from handlers.application.application import Application, repository_of
from handlers.application.status import of_type
from handlers.application.target_revision import asked_revision
from handlers.ports import CommitTree, SourceFollowers
from handlers.ports.render_record import RenderRecord
from handlers.render.read_set import holds
from handlers.render.recipes import names_revision


class ResolvedTarget(msgspec.Struct, frozen=True, kw_only=True):
    """What a target revision of a repository means now, with the files there."""

    repository: RepositoryKey
    target: str
    revision: Revision
    tree: CommitTree


def deployed(followers: Iterable[SourceFollowers]) -> list[SourceFollowers]:
    """Leave out those who follow a dry source, which nothing is deployed from."""
    return [one for one in followers if not one.group.is_dry]


def by_target_revision(followers: Iterable[SourceFollowers]) -> Mapping[str, frozenset[AppKey]]:
    """Group Applications by the target revision that their source follows."""
    found: dict[str, frozenset[AppKey]] = {}
    for group, apps in followers:
        found[group.target_revision] = found.get(group.target_revision, frozenset()) | apps
    return found


def unsettled(app: Application, record: RenderRecord | None, repository: RepositoryKey) -> bool:
    """Whether to render again whatever a commit touched: never rendered, elsewhere, or in error."""
    if record is None or not (_is_of(record, app, repository) or _has_base(record, repository)):
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


def _has_base(record: RenderRecord, repository: RepositoryKey) -> bool:
    return any(base.repository == repository for one in record.sources for base in one.bases)


def outdated(app: Application, record: RenderRecord, now: ResolvedTarget) -> bool:
    """Whether the render read files that differ in this commit, or names another commit's id.

    Asked of the sources that follow the target, of those that read their files by a ref, and of
    those that have it as a remote base.
    """
    bases = (base for one in record.sources for base in one.bases)
    at_target = (
        one for one in bases if (one.repository, one.wanted.ref) == (now.repository, now.target)
    )
    if not all(holds(one.read_set, now.tree) for one in at_target):
        return True
    for source, known in zip(app.sources, record.sources, strict=False):
        if known.repository != now.repository or asked_revision(source) != now.target:
            continue
        moved = known.recipe and known.revision != now.revision
        if moved and (known.plugin or names_revision(source)):
            return True
        if not holds(known.read_set, now.tree):
            return True
        if source.ref and not all(holds(one, now.tree) for one in _read_by(record, source.ref)):
            return True
    return False


def follows_ranges(record: RenderRecord) -> bool:
    """Whether a chart that was fetched for it follows a range: versions come without a commit."""
    return any(not one.wanted.is_exact for it in record.sources for one in it.dependencies)


def _read_by(record: RenderRecord, ref: str) -> Iterator[Mapping[str, str]]:
    """The read sets of the sources that read files by the ref."""
    return (one.refs[ref].read_set for one in record.sources if ref in one.refs)
