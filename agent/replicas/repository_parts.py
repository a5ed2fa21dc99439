"""RepositoryParts decides which replicas look at a repository: each for its own Applications.

A repository is followed by Applications of many shards, and whoever is to render one of them needs
the commit in a mirror of its own. So an ask is split: a push asks every shard that has followers,
since the sender does not know which replica will hold it by then; a poll asks one shard of the
replica that polls; and an ask that follows from work on an Application stays in its shard.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from agent.replicas.shard_ownership import ShardOwnership
from bus.events import Event, RefreshRepository
from bus.identity import RepositoryKey, shard_of
from bus.route import Route
from handlers.application.application import Application


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryParts:
    apps_of: Callable[[RepositoryKey], Sequence[Application]]
    """Returns the Applications that use a repository."""
    ownership: ShardOwnership

    def of_push(self, asks: Iterable[RefreshRepository]) -> tuple[RefreshRepository, ...]:
        """Split each ask among the shards that have followers."""
        if not self.ownership.divided:
            return tuple(asks)
        return tuple(
            msgspec.structs.replace(ask, part=shard)
            for ask in asks
            for shard in self._shards(ask.repository)
        )

    def of_poll(self, ask: RefreshRepository) -> RefreshRepository:
        """Direct the ask to this replica, as long as it holds the shard."""
        if not self.ownership.divided:
            return ask
        mine = [shard for shard in self._shards(ask.repository) if shard in self.ownership.names]
        return msgspec.structs.replace(ask, part=mine[0]) if mine else ask

    def _shards(self, repository: RepositoryKey) -> Sequence[str]:
        apps = self.apps_of(repository)
        return sorted({shard_of(app.key.token) for app in apps})


def in_shard_of(cause: Event, result: Event) -> Event:
    """Keep an ask for a repository in the shard of the event that it follows from."""
    if isinstance(result, RefreshRepository) and not result.part:
        return msgspec.structs.replace(result, part=cause.shard)
    return result


def with_shard(route: Route) -> Route:
    """Make the route of a replica: what a handler asks of a repository stays in its shard."""

    async def handled(event: Event) -> Sequence[Event]:
        results = await route.handler(event)
        return tuple(in_shard_of(event, result) for result in results)

    return replace(route, handler=handled)
