"""CommitReporter: author, time and message of the deployed and the desired commit of applications.

They are read from the mirrors and reported with the application's state, so that a service that
missed the fact of a resolved revision (a new enrolment, a restored database) shows them too.
Nothing is fetched for this: a revision that the mirror does not hold yet is read again later, after
the next refresh has fetched it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from agent.bridge.reporting.change_marks import ChangeMarks, in_slices
from agent.store.applications import Applications
from bus.events import Commit
from bus.identity import AppKey, Revision
from bus.link.kinds import APPLICATION
from handlers.application.application import Application
from handlers.application.revisions import Revisions
from handlers.application.source_address import SourceKind
from handlers.application.spec import Source
from handlers.ports import RepositoryAccess, RepositoryError
from handlers.report.public_commit import public_commit

_COLLECT_SECONDS = 0.5
_MISSING_SECONDS = 10.0
"""Between two attempts to read the revisions that no mirror holds."""
_REMEMBERED = 10_000


class CommitReader(Protocol):
    def access(self, source: Source, project: str) -> RepositoryAccess: ...
    async def commit(self, repository: RepositoryAccess, revision: Revision) -> Commit | None: ...


@dataclass(slots=True, kw_only=True)
class CommitReporter:
    """`application_changed` marks an application, `update` reads its commits."""

    applications: Applications
    sources: CommitReader
    _cache: dict[tuple[RepositoryAccess, str], Commit] = field(default_factory=dict)
    _by_subject: dict[str, Mapping[str, Commit]] = field(default_factory=dict)
    _missing: set[str] = field(default_factory=set)
    _marks: ChangeMarks = field(
        default_factory=lambda: ChangeMarks(collect_seconds=_COLLECT_SECONDS)
    )

    def __call__(self) -> Mapping[str, Mapping[str, Commit]]:
        """The commits by `namespace/name` of the application, then by revision."""
        return self._by_subject

    def application_changed(self, subject: str) -> None:
        self._marks.add((subject,))

    async def watch(self, changed: Callable[[str, str], None]) -> None:
        """Call `changed` with kind and subject of each change, until cancelled."""
        self._marks.add(str(app.key) for app in self.applications.all())
        missing_at = 0.0
        while True:
            left = max(0.0, missing_at - time.monotonic())
            await self._marks.wait(left if self._missing else None)
            if time.monotonic() >= missing_at:
                self._marks.add(self._missing)
                missing_at = time.monotonic() + _MISSING_SECONDS
            for subject in await self.update():
                changed(APPLICATION.name, subject)

    async def update(self) -> Sequence[str]:
        """Read the commits of the marked applications; returns the changed subjects."""
        marked = self._marks.take()
        changed = []
        async for subject in in_slices(sorted(marked)):
            before = self._by_subject.get(subject, {})
            after = await self._commits(subject)
            if after != before:
                self._by_subject[subject] = after
                changed.append(subject)
            if not after:
                self._by_subject.pop(subject, None)
        return changed

    async def _commits(self, subject: str) -> Mapping[str, Commit]:
        self._missing.discard(subject)
        namespace, _, name = subject.partition("/")
        app = self.applications.get(AppKey(namespace, name))
        if app is None:
            return {}
        found: dict[str, Commit] = {}
        for source, revision in _revisions(app):
            try:
                repository = self.sources.access(source, app.spec.project)
            except RepositoryError:
                continue
            if repository.kind is not SourceKind.GIT or revision in found:
                continue
            commit = await self._commit(repository, revision)
            if commit is None:
                self._missing.add(subject)
            else:
                found[revision] = commit
        return found

    async def _commit(self, repository: RepositoryAccess, revision: str) -> Commit | None:
        known = self._cache.get((repository, revision))
        if known is not None:
            return known
        try:
            commit = await self.sources.commit(repository, Revision(revision))
        except RepositoryError:
            return None
        if commit is None:
            return None
        if len(self._cache) >= _REMEMBERED:
            del self._cache[next(iter(self._cache))]
        public = self._cache[repository, revision] = public_commit(commit)
        return public


def _revisions(app: Application) -> Iterator[tuple[Source, str]]:
    """The desired revisions and those deployed last, each with its source."""
    desired, history = Revisions.of(app.status.sync), app.status.history
    yield from _pairs(app.sources, desired)
    if history:
        last = history[-1]
        deployed = last.sources or ((last.source,) if last.source else app.sources)
        yield from _pairs(deployed, Revisions.of(last))


def _pairs(sources: Iterable[Source], revisions: Revisions) -> Iterator[tuple[Source, str]]:
    pairs = zip(sources, revisions.each, strict=False)
    return ((source, revision) for source, revision in pairs if revision)
