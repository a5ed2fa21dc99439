"""ShardDuties take up the shards that the table gives this replica, and give back its surplus.

    take up    forget what was rendered and fetched when somebody else held them; publish the facts
               that a crash left unpublished; open their inboxes; ask for each Application
    give back  take no more, wait until the handlers have ended, and let the table name another

Work on the shards that stay goes on all the while.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

import structlog

from agent.dependencies import AgentDependencies
from agent.replicas.membership import Membership
from agent.replicas.membership_terms import MembershipLostError
from agent.replicas.shard_table import surplus
from agent.startup_replay import publish_unpublished, recall_revisions
from bus.carrier import CarrierError
from bus.dispatcher import Dispatcher
from bus.identity import shard_of

log = structlog.get_logger()

_AGAIN = 1.0


@dataclass(slots=True, kw_only=True)
class ShardDuties:
    """`run` is a task that runs as long as the dispatcher; raises MembershipLostError."""

    parts: AgentDependencies
    membership: Membership
    dispatcher: Dispatcher
    stop: asyncio.Event
    _open: dict[str, int] = field(default_factory=dict)
    _draining: set[str] = field(default_factory=set)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while not self.stop.is_set():
                self.membership.written.clear()
                await self._take_up()
                self._give_back(tasks)
                await self.membership.written.wait()

    async def _take_up(self) -> None:
        assigned = self.parts.ownership.table.held_by(self.membership.identity)
        if any(assigned.get(shard) != term for shard, term in self._open.items()):
            raise MembershipLostError("shards of this replica were given to others")
        leaving = self._draining | self.membership.drained
        new = {
            shard: term
            for shard, term in assigned.items()
            if shard not in self._open and shard not in leaving
        }
        if not new:
            return
        try:
            await self._begin(new)
        except CarrierError as error:
            log.warning("shards not taken up yet", shards=len(new), cause=str(error))
            await asyncio.sleep(_AGAIN)
            self.membership.written.set()

    async def _begin(self, new: Mapping[str, int]) -> None:
        parts = self.parts
        await self._forget(new)
        await recall_revisions(parts.bus, parts.refs)
        await publish_unpublished(
            parts.bus,
            parts.applications,
            parts.settings.namespace,
            lambda key: shard_of(key.token) in new,
        )
        await self.dispatcher.open(new)
        self._open |= new
        parts.ownership.gain(new)
        log.info("shards taken up", shards=len(new), holds=len(self._open))

    async def _forget(self, new: Mapping[str, int]) -> None:
        """Forget the renders of Applications that another replica may have rendered since."""
        parts = self.parts
        parts.sources.outdate()
        for app in parts.applications.all():
            if shard_of(app.key.token) in new:
                await parts.renders.forget(app.key)

    def _give_back(self, tasks: asyncio.TaskGroup) -> None:
        extra = frozenset(surplus(self.parts.ownership.table, self.membership.identity))
        extra &= frozenset(self._open)
        if not extra:
            return
        for shard in extra:
            del self._open[shard]
        self._draining |= extra
        tasks.create_task(self._drain(extra), name="drain shards")

    async def _drain(self, shards: frozenset[str]) -> None:
        self.parts.ownership.lose(shards)
        await self.dispatcher.drain(shards)
        self._draining -= shards
        self.membership.hand_over(shards)
        log.info("shards given back", shards=len(shards), holds=len(self._open))
