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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Event, RefreshApp, RefreshFailed, RefreshRepository, RevisionResolved
from bus.identity import NO_REVISION, AppKey, RepositoryKey, Revision
from bus.route import Retry
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application
from handlers.application.failure_wait import wait
from handlers.application.project import admits, source_permitted
from handlers.application.source_hydrator import hydrations
from handlers.application.status import Condition, revised
from handlers.ports import (
    Apps,
    Clock,
    ClusterUnreachableError,
    CommitTree,
    KnownRefs,
    Renders,
    RepositoryAccess,
    RepositoryError,
    SourceFollowers,
    SourceGroup,
    Sources,
    StatusWrite,
)
from handlers.ports.render_record import RenderRecord
from handlers.refresh.base_followers import base_followers
from handlers.refresh.touched_applications import (
    ResolvedTarget,
    by_target_revision,
    deployed,
    follows_ranges,
    outdated,
    unsettled,
)
from handlers.report.public_commit import public_commit

_OWNED = (ConditionType.COMPARISON_ERROR,)
_TURN = 32
"""Read sets asked in a row before other tasks get the event loop."""


@dataclass(frozen=True, slots=True)
class RevisionLookup:
    """One target revision of one repository, and the Applications that follow it."""

    repository: RepositoryAccess
    target: str
    followers: frozenset[AppKey]
    pushed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshHandler:
    apps: Apps
    sources: Sources
    renders: Renders
    refs: KnownRefs
    is_proven: Callable[[Application, RenderRecord], bool]
    """Whether the sources of a render are proven as it is demanded now."""
    clock: Clock

    async def __call__(self, ask: RefreshRepository) -> Sequence[Event]:
        events: list[Event] = []
        failures: list[Retry] = []
        for repository, followers in self._by_access(ask.repository).items():
            try:
                await self.sources.fetch(repository)
            except RepositoryError as error:
                events += hydrations(self._hydrated(followers))
                if apps := [app for one in deployed(followers) for app in self._present(one.apps)]:
                    failures.append(await self._failure(repository.key, apps, error))
                continue
            # One that came while the fetch ran may have been rendered from the commit that was
            # there before, and nothing but this look would tell it of the new one.
            current = self._by_access(repository.key).get(repository, ())
            events += await self._hydrations(repository, current)
            for target, keys in by_target_revision(deployed(current)).items():
                look = RevisionLookup(repository, target, keys, pushed=bool(ask.ref))
                events += await self._look(look)
        if failures:
            raise _together(failures, events)
        return tuple(events)

    def _by_access(
        self, repository: RepositoryKey
    ) -> Mapping[RepositoryAccess, list[SourceFollowers]]:
        """Group the followers by credential: with another one the repository may look different."""
        found: dict[RepositoryAccess, list[SourceFollowers]] = defaultdict(list)
        bases = base_followers(self.renders.base_users(repository), self.apps)
        for followers in (*self.apps.followers(repository), *bases):
            group = followers.group
            if not self._is_admitted(group):
                continue
            found[self.sources.access(group.source, group.project)].append(followers)
        return found

    async def _hydrations(
        self, repository: RepositoryAccess, followers: Sequence[SourceFollowers]
    ) -> Sequence[Event]:
        """Ask for the branches that are made of this repository; their handler finds what moved."""
        asks: list[Event] = []
        for one in followers:
            if not one.group.is_dry:
                continue
            try:
                revision = await self.sources.resolve(repository, one.group.target_revision)
            except RepositoryError:
                revision = NO_REVISION
            asks += hydrations(self._hydrated([one]), revision)
        return asks

    def _hydrated(self, followers: Iterable[SourceFollowers]) -> Sequence[Application]:
        return [app for one in followers if one.group.is_dry for app in self._present(one.apps)]

    def _is_admitted(self, group: SourceGroup) -> bool:
        """Whether the project may be used from there, and permits the source.

        Else nothing is read, with credentials or without: what a server answers would be shown.
        """
        project = self.apps.project(group.project)
        if project is None or not admits(project, group.namespace):
            return False
        return source_permitted(project, group.source)

    def _present(self, keys: Iterable[AppKey]) -> list[Application]:
        """Read Applications in the order of their keys; one that is gone by now is left out."""
        return [app for key in sorted(keys) if (app := self.apps.get(key)) is not None]

    async def _look(self, look: RevisionLookup) -> Sequence[Event]:
        before = self.refs.last(look.repository, look.target)
        try:
            after = await self.sources.resolve(look.repository, look.target)
            tree = await self.sources.tree(look.repository, after)
            touched = await self._touched(look, (before, after), tree)
        except RepositoryError:
            # Each render meets the same error and writes it as a condition.
            return _asks(self._present(look.followers))
        published = self.refs.published(look.repository.key, look.target)
        self.refs.remember(look.repository, look.target, after)
        if published == after:
            return _asks(touched)
        commit = await self.sources.commit(look.repository, after)
        moved = RevisionResolved(
            repository=look.repository.key,
            target_revision=look.target,
            revision=after,
            before=published,
            watching=len(look.followers),
            touched=len(touched),
            commit=public_commit(commit) if commit else None,
        )
        return (moved, *_asks(touched))

    async def _touched(
        self, look: RevisionLookup, move: tuple[Revision, Revision], tree: CommitTree
    ) -> Sequence[Application]:
        candidates = await self._candidates(look, *move)
        now = ResolvedTarget(
            repository=look.repository.key, target=look.target, revision=move[1], tree=tree
        )
        is_poll = not look.pushed and move[0] == move[1]
        touched: list[Application] = []
        for number, app in enumerate(candidates):
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            record = self.renders.recall(app.key)
            if (
                record is None
                or not self.is_proven(app, record)
                or unsettled(app, record, look.repository.key)
                or outdated(app, record, now)
                or (is_poll and follows_ranges(record))
            ):
                touched.append(app)
        return touched

    async def _candidates(
        self, look: RevisionLookup, before: Revision, after: Revision
    ) -> Sequence[Application]:
        """Read the Applications whose read sets are worth asking."""
        if before == after and not look.pushed:
            return self._present(look.followers)
        changed: frozenset[str] | None = frozenset()
        if before != after:
            changed = await self.sources.changed_paths(look.repository, before, after)
        if changed is None:
            return self._present(look.followers)
        repository = look.repository.key
        readers = self.renders.readers(repository, changed)
        settled = self.renders.rendered(repository) - self.apps.in_error - self.apps.naming_commit
        settled -= self.renders.by_plugins
        return self._present((look.followers - settled) | (look.followers & readers))

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
