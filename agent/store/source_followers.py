"""FollowerIndex is the index from repositories to the Applications that follow them, in groups.

The Applications of a group are fetched and resolved together: same URL, project and target
revision. A push looks at groups and sets of keys, so that its cost does not grow with the number of
Applications that it does not touch. An Application is indexed again after each write to it; where
its source stays, nothing is done.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from bus.identity import AppKey, RepositoryKey
from bus.status import ConditionType
from handlers.application.application import Application, repository_of
from handlers.application.source_address import passes_credentials
from handlers.application.spec import Source
from handlers.application.status import of_type
from handlers.application.target_revision import asked_revision
from handlers.ports import SourceFollowers, SourceGroup
from handlers.render.recipes import names_revision

_Groups = dict[SourceGroup, set[AppKey]]


class FollowerIndex:
    def __init__(self) -> None:
        self._groups: dict[RepositoryKey, _Groups] = {}
        self._naming_commit: set[AppKey] = set()
        self._in_error: set[AppKey] = set()

    def repositories(self) -> Sequence[RepositoryKey]:
        """Return the repositories that somebody follows."""
        return tuple(self._groups)

    def of(self, repository: RepositoryKey) -> Sequence[SourceFollowers]:
        """Return the groups; their sets are views that change with the index."""
        groups = self._groups.get(repository, {})
        return [SourceFollowers(group, apps) for group, apps in groups.items()]

    @property
    def naming_commit(self) -> AbstractSet[AppKey]:
        """Applications whose source uses the commit's id, so that each commit renders them."""
        return self._naming_commit

    @property
    def in_error(self) -> AbstractSet[AppKey]:
        """Applications with a ComparisonError, which the next look may end."""
        return self._in_error

    def change(self, before: Application | None, after: Application | None) -> None:
        """Index a change; `before` is None for a new Application, `after` for a deleted one."""
        if after is not None:
            _mark(self._in_error, after.key, is_in=_has_error(after))
        elif before is not None:
            self._in_error.discard(before.key)
        if before is not None and after is not None and _same_source(before, after):
            return
        if before is not None:
            self._remove(before)
        if after is not None:
            self._add(after)

    def _add(self, app: Application) -> None:
        if app.deleting:
            return
        for source, is_dry in _followed(app):
            repository = repository_of(source)
            if repository is not None:
                groups = self._groups.setdefault(repository, {})
                groups.setdefault(_group(app, source, is_dry=is_dry), set()).add(app.key)
        named = any(names_revision(one) for one in app.sources if repository_of(one))
        _mark(self._naming_commit, app.key, is_in=named)

    def _remove(self, app: Application) -> None:
        self._naming_commit.discard(app.key)
        for source, is_dry in _followed(app):
            repository = repository_of(source)
            if repository is not None:
                self._leave(repository, _group(app, source, is_dry=is_dry), app.key)

    def _leave(self, repository: RepositoryKey, group: SourceGroup, app: AppKey) -> None:
        groups = self._groups.get(repository, {})
        apps = groups.get(group, set())
        apps.discard(app)
        if not apps:
            groups.pop(group, None)
        if not groups:
            self._groups.pop(repository, None)


def _followed(app: Application) -> Iterator[tuple[Source, bool]]:
    """Pair each source that is followed with whether it is the dry source of a hydrator."""
    deployed = len(app.sources)
    for place, source in enumerate(app.followed_sources):
        yield source, place >= deployed


def _group(app: Application, source: Source, *, is_dry: bool) -> SourceGroup:
    return SourceGroup(
        source.repo_url,
        app.spec.project,
        asked_revision(source),
        app.metadata.namespace,
        source.chart,
        passes_credentials(source),
        is_dry,
    )


def _same_source(before: Application, after: Application) -> bool:
    """Whether nothing changed of what the index holds."""
    return (
        before.followed_sources == after.followed_sources
        and before.spec.project == after.spec.project
        and before.deleting == after.deleting
    )


def _has_error(app: Application) -> bool:
    conditions = app.status.conditions
    return bool(conditions and of_type(conditions, ConditionType.COMPARISON_ERROR))


def _mark(keys: set[AppKey], key: AppKey, *, is_in: bool) -> None:
    if is_in:
        keys.add(key)
    else:
        keys.discard(key)
