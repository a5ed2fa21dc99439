"""Refresh: RefreshRepository -> RevisionResolved and RefreshApp for each application it touches.

The repository is fetched once, by its own address, for all who read it with the same credential,
and each target revision in use is resolved once. What a new commit
changed is one tree comparison; who read any of it is one look into an index; who read something
that is different now is then asked exactly. Everybody else is not written to at all.

A look that nobody's push asked for (the safety net) asks every application exactly, so that an ask
that was lost on the way is made again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import Event, RefreshApp, RefreshFailed, RefreshRepository, RevisionResolved
from bus.identity import RepositoryKey, Revision
from bus.status import ConditionType
from bus.verdicts import Retry
from handlers.application import times
from handlers.application.application import Application
from handlers.application.conditions import revised
from handlers.application.status import Condition
from handlers.ports import (
    Apps,
    Clock,
    ClusterUnreachableError,
    Commits,
    Git,
    Refs,
    Renders,
    RepositoryAccess,
    RepositoryError,
    StatusWrite,
    Tree,
)
from handlers.refresh.said import said_of
from handlers.refresh.touched import (
    by_target_revision,
    depends_on_commit,
    outdated,
    unsettled,
    wait,
    watching,
)

_OWNED = (ConditionType.COMPARISON_ERROR,)
_TURN = 32
"""Applications asked exactly before others get the loop."""


@dataclass(frozen=True, slots=True)
class Look:
    """One target revision of one repository, and the applications that follow it."""

    repository: RepositoryAccess
    target: str
    watching: Sequence[Application]
    pushed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh:
    apps: Apps
    git: Git
    commits: Commits
    renders: Renders
    refs: Refs
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
            for target, followers in by_target_revision(readers).items():
                look = Look(repository, target, followers, pushed=bool(ask.ref))
                events += await self._look(look)
        if failures:
            raise _together(failures, events)
        return tuple(events)

    def _by_access(
        self, apps: Sequence[Application]
    ) -> Mapping[RepositoryAccess, list[Application]]:
        """Whose credential is another one sees the repository for itself."""
        found: dict[RepositoryAccess, list[Application]] = defaultdict(list)
        for app in apps:
            if app.source is not None:
                found[self.git.access(app.source.repo_url, app.spec.project)].append(app)
        return found

    async def _look(self, look: Look) -> Sequence[Event]:
        before = self.refs.last(look.repository, look.target)
        try:
            after = await self.git.resolve(look.repository, look.target)
            tree = await self.git.tree(look.repository, after)
            touched = await self._touched(look, (before, after), tree)
        except RepositoryError:
            return _asks(look.watching)  # rendering meets the same error and tells it to each
        told = self.refs.told(look.repository.key, look.target)
        self.refs.note(look.repository, look.target, after)
        if told == after:
            return _asks(touched)
        commit = await self.commits.commit(look.repository, after)
        moved = RevisionResolved(
            repository=look.repository.key,
            target_revision=look.target,
            revision=after,
            before=told,
            watching=len(look.watching),
            touched=len(touched),
            commit=said_of(commit) if commit else None,
        )
        return (moved, *_asks(touched))

    async def _touched(
        self, look: Look, move: tuple[Revision, Revision], tree: Tree
    ) -> Sequence[Application]:
        candidates = await self._candidates(look, *move)
        found: list[Application] = []
        for number, app in enumerate(candidates):
            if number % _TURN == _TURN - 1:
                await asyncio.sleep(0)
            record = self.renders.recall(app.key)
            if (
                record is None
                or unsettled(app, record, look.repository.key)
                or outdated(app, record, (move[1], tree))
            ):
                found.append(app)
        return found

    async def _candidates(
        self, look: Look, before: Revision, after: Revision
    ) -> Sequence[Application]:
        """Those worth an exact look."""
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
        """Tell it to each application, which keeps its last state, and come back."""
        after = wait(apps, error.message, self.clock.now())
        fact = RefreshFailed(
            repository=repository, reason=error.reason, message=error.message, retry_after=after
        )
        condition = Condition(type=ConditionType.COMPARISON_ERROR, message=error.message)
        for app in apps:
            try:
                await self._tell(app, condition)
            except ClusterUnreachableError:
                break  # told at the next try
        return Retry(error.message, after=after, say=(fact,))

    async def _tell(self, app: Application, condition: Condition) -> None:
        now = times.written(self.clock.now())
        conditions = revised(app.status.conditions, _OWNED, (condition,), now)
        if conditions != app.status.conditions:
            status = replace(app.status, conditions=conditions)
            await self.apps.write(app, StatusWrite(status=status))


def _together(failures: Sequence[Retry], events: Sequence[Event]) -> Retry:
    """What the others saw is said all the same."""
    said = (*events, *(fact for one in failures for fact in one.say))
    return Retry(failures[0].reason, after=min(one.after for one in failures), say=said)


def _asks(apps: Iterable[Application]) -> tuple[RefreshApp, ...]:
    return tuple(RefreshApp(app=app.key) for app in apps)
