"""The handler of RefreshRepository: finds the Applications that the newest commit touches.

It returns RevisionResolved, and RefreshApp for each Application to be rendered again:

1. Fetch the repository once for all Applications that read it with the same credential.
2. Resolve each target revision in use once.
3. Find what the new commit changed by one comparison of trees, and who read any of it by one look
   into an index. Nothing is done for the other Applications, however many there are.
4. Ask the read sets of those found, which say exactly whether their render would differ.

A poll (no push asked for it) asks the read sets of all Applications, so that an ask that was lost
on its way is made again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Event, RefreshApp, RefreshFailed, RefreshRepository, RevisionResolved
from bus.identity import RepositoryKey, Revision
from bus.route import Retry
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application
from handlers.application.status import Condition, revised
from handlers.ports import (
    Apps,
    Clock,
    ClusterUnreachableError,
    Commits,
    CommitTree,
    GitRepositories,
    KnownRefs,
    Renders,
    RepositoryAccess,
    RepositoryError,
    StatusWrite,
)
from handlers.refresh.public_commit import public_commit
from handlers.refresh.touched_applications import (
    by_target_revision,
    depends_on_commit,
    outdated,
    unsettled,
    wait,
    watching,
)

_OWNED = (ConditionType.COMPARISON_ERROR,)
_TURN = 32
"""Read sets asked in a row before other tasks get the event loop."""


@dataclass(frozen=True, slots=True)
class RevisionLookup:
    """One target revision of one repository, and the applications that follow it."""

    repository: RepositoryAccess
    target: str
    watching: Sequence[Application]
    pushed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshHandler:
    apps: Apps
    git: GitRepositories
    commits: Commits
    renders: Renders
    refs: KnownRefs
    clock: Clock

    async def __call__(self, ask: RefreshRepository) -> Sequence[Event]:
        apps = watching(self.apps.of_repository(ask.repository), ask.repository)
        if not apps:
            return ()
        events: list[Event] = []
        failures: list[Retry] = []
        for repository, readers in self._by_access(apps).items():
            try:
                await self.git.fetch(repository)
            except RepositoryError as error:
                failures.append(await self._failure(repository.key, readers, error))
                continue
            for target, followers in by_target_revision(self._current(repository)).items():
                look = RevisionLookup(repository, target, followers, pushed=bool(ask.ref))
                events += await self._look(look)
        if failures:
            raise _together(failures, events)
        return tuple(events)

    def _current(self, repository: RepositoryAccess) -> Sequence[Application]:
        """Read the followers again, after the fetch.

        One that came while it ran may have been rendered from the commit that was there before,
        and nothing but this look would tell it of the new one.
        """
        apps = watching(self.apps.of_repository(repository.key), repository.key)
        return self._by_access(apps).get(repository, ())

    def _by_access(
        self, apps: Sequence[Application]
    ) -> Mapping[RepositoryAccess, list[Application]]:
        """Group Applications by credential: with another one the repository may look different."""
        readers: dict[RepositoryAccess, list[Application]] = defaultdict(list)
        for app in apps:
            if app.source is not None:
                readers[self.git.access(app.source.repo_url, app.spec.project)].append(app)
        return readers

    async def _look(self, look: RevisionLookup) -> Sequence[Event]:
        before = self.refs.last(look.repository, look.target)
        try:
            after = await self.git.resolve(look.repository, look.target)
            tree = await self.git.tree(look.repository, after)
            touched = await self._touched(look, (before, after), tree)
        except RepositoryError:
            return _asks(
                look.watching
            )  # each render meets the same error and writes it as a condition
        published = self.refs.published(look.repository.key, look.target)
        self.refs.remember(look.repository, look.target, after)
        if published == after:
            return _asks(touched)
        commit = await self.commits.commit(look.repository, after)
        moved = RevisionResolved(
            repository=look.repository.key,
            target_revision=look.target,
            revision=after,
            before=published,
            watching=len(look.watching),
            touched=len(touched),
            commit=public_commit(commit) if commit else None,
        )
        return (moved, *_asks(touched))

    async def _touched(
        self, look: RevisionLookup, move: tuple[Revision, Revision], tree: CommitTree
    ) -> Sequence[Application]:
        candidates = await self._candidates(look, *move)
        touched: list[Application] = []
        for number, app in enumerate(candidates):
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            record = self.renders.recall(app.key)
            if (
                record is None
                or unsettled(app, record, look.repository.key)
                or outdated(app, record, (move[1], tree))
            ):
                touched.append(app)
        return touched

    async def _candidates(
        self, look: RevisionLookup, before: Revision, after: Revision
    ) -> Sequence[Application]:
        """The Applications whose read sets are worth asking."""
        if before == after and not look.pushed:
            return look.watching
        changed: frozenset[str] | None = frozenset()
        if before != after:
            changed = await self.git.changed_paths(look.repository, before, after)
        if changed is None:
            return look.watching
        readers = self.renders.readers(look.repository.key, changed)
        return [
            app
            for app in look.watching
            if app.key in readers
            or unsettled(app, self.renders.recall(app.key), look.repository.key)
            or depends_on_commit(app)
        ]

    async def _failure(
        self, repository: RepositoryKey, apps: Sequence[Application], error: RepositoryError
    ) -> Retry:
        """Write the error as a condition of each Application, and come back later."""
        after = wait(apps, error.message, self.clock.now())
        fact = RefreshFailed(
            repository=repository, reason=error.reason, message=error.message, retry_after=after
        )
        condition = Condition(type=ConditionType.COMPARISON_ERROR, message=error.message)
        for app in apps:
            try:
                await self._write(app, condition)
            except ClusterUnreachableError:
                break  # written at the next try
        return Retry(error.message, after=after, emit=(fact,))

    async def _write(self, app: Application, condition: Condition) -> None:
        now = times.written(self.clock.now())
        conditions = revised(app.status.conditions, _OWNED, (condition,), now)
        if conditions != app.status.conditions:
            status = replace(app.status, conditions=conditions)
            await self.apps.write(app, StatusWrite(status=status))


def _together(failures: Sequence[Retry], events: Sequence[Event]) -> Retry:
    """One Retry for all failures, which publishes what was found elsewhere all the same."""
    facts = (*events, *(fact for one in failures for fact in one.emit))
    return Retry(failures[0].reason, after=min(one.after for one in failures), emit=facts)


def _asks(apps: Iterable[Application]) -> tuple[RefreshApp, ...]:
    return tuple(RefreshApp(app=app.key) for app in apps)
