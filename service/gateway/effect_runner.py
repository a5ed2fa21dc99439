"""The runner of link effects: each effect is one short transaction.

The outcome is fed back into the link; an effect without an outcome returns None.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import update
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.link import KeepHead
from service.audit import anchors
from service.gateway import effects as fx
from service.gateway import reported_hashes
from service.gateway.epochs import believe_if_overlapping
from service.gateway.link_opening import (
    EPOCHS_WITHIN,
    OpenedLink,
    TooManyEpochsError,
    close_link,
    open_link,
)
from service.gateway.sessions import SessionHolder
from service.gateway.task_offers import offers
from service.gateway.task_streams import TaskStreams
from service.keys.key_file import KeyFile
from service.projection.writer import FencedError, ProjectionWriter
from service.store.tables import agents

_REFUSED = "the agent is revoked, or another connection or outbox of it took over"


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectRunner:
    """Shared by all connections of this replica."""

    engine: AsyncEngine
    writer: ProjectionWriter
    streams: TaskStreams
    keys: KeyFile
    clock: Callable[[], datetime]
    replica: str

    async def open(self, caller: SessionHolder, effect: fx.OpenLink) -> fx.Input:
        try:
            async with self.engine.begin() as connection:
                opened = await open_link(
                    connection, caller, effect.hello, self.replica, self.clock()
                )
        except TooManyEpochsError as error:
            return fx.LinkRefusal(reason=str(error), retry_after=EPOCHS_WITHIN.total_seconds())
        return opened or fx.LinkRefusal(reason=_REFUSED)

    async def close(self, opened: OpenedLink) -> None:
        async with self.engine.begin() as connection:
            await close_link(connection, opened)

    async def __call__(self, opened: OpenedLink, effect: fx.Effect) -> fx.Input | None:
        """Effects of an open link; Open and Close are the socket's own."""
        try:
            return await self._stored(opened, effect)
        except FencedError as e:
            return fx.LinkRefusal(reason=str(e))

    async def _stored(self, opened: OpenedLink, effect: fx.Effect) -> fx.Input | None:
        match effect:
            case fx.StoreItems():
                return await self.writer.store(opened.scope, opened.fence, effect.items)
            case fx.StoreBodies():
                items = effect.bodies.items
                await self.writer.store_bodies(opened.scope, opened.fence, items)
                return None
            case fx.OfferTasks():
                return await self._offer(opened, effect)
            case fx.SendAuditHead():
                return await self._head(opened)
            case _:
                return await self._looked(opened, effect)

    async def _looked(self, opened: OpenedLink, effect: fx.Effect) -> fx.Input | None:
        match effect:
            case fx.CompareRoots():
                return await self._compare_roots(opened, effect)
            case fx.CompareMembers():
                async with self.engine.connect() as connection:
                    return await reported_hashes.compare_members(connection, opened.scope, effect)
            case fx.ActivateEpoch():
                return await self._believe(opened)
            case fx.RecordHeartbeat():
                return await self._record_heartbeat(opened, effect)
            case _:
                await self._carry_out(opened, effect)
                return None

    async def _carry_out(self, opened: OpenedLink, effect: fx.Effect) -> None:
        match effect:
            case fx.DoubtKinds():
                await reported_hashes.doubt(self.engine, opened.scope, effect, self.clock())
            case fx.RelayChunk():
                await self.streams.relay(opened.scope.agent_id, effect.part)
            case fx.KeepAuditHeads():
                await self._keep_heads(opened, effect)
            case _:
                return

    async def _compare_roots(self, opened: OpenedLink, effect: fx.CompareRoots) -> fx.RootsCompared:
        async with self.engine.connect() as connection:
            found = await reported_hashes.differing(connection, opened.scope, effect.kinds)
        if not opened.scope.quarantined:
            await reported_hashes.mark(self.engine, opened.scope, self.clock(), in_step=not found)
        return fx.RootsCompared(differing=found, again=effect.again)

    async def _believe(self, opened: OpenedLink) -> fx.Input | None:
        async with self.engine.begin() as connection:
            believed = await believe_if_overlapping(
                connection, opened.scope, self.clock(), self.writer.followers
            )
        return fx.EpochActivated() if believed else None

    async def _offer(self, opened: OpenedLink, effect: fx.OfferTasks) -> fx.TasksOffered:
        async with self.engine.begin() as connection:
            found = await offers(
                connection, opened, self.clock(), effect.running, first=effect.first
            )
        return fx.TasksOffered(frames=found)

    async def _head(self, opened: OpenedLink) -> fx.TasksOffered | None:
        async with self.engine.connect() as connection:
            head = await anchors.head_of(connection, opened.scope.account_id, self.keys.ring)
        return None if head is None else fx.TasksOffered(frames=(KeepHead(head=head),))

    async def _keep_heads(self, opened: OpenedLink, effect: fx.KeepAuditHeads) -> None:
        scope = opened.scope
        async with self.engine.begin() as connection:
            await anchors.keep(
                connection, scope.account_id, scope.agent_id, effect.heads, self.keys.ring
            )

    async def _record_heartbeat(
        self, opened: OpenedLink, effect: fx.RecordHeartbeat
    ) -> fx.Input | None:
        """And still ours: a signal of revocation or of a newer connection may have been lost."""
        values: dict[str, object] = {"heard_at": self.clock(), "connected": True}
        if effect.round_trip_ms is not None:
            values["round_trip_ms"] = effect.round_trip_ms
            values["clock_skew_ms"] = effect.clock_skew_ms
        async with self.engine.begin() as connection:
            mine = (agents.c.id == opened.scope.agent_id) & (agents.c.fence == opened.fence)
            heard = update(agents).where(mine, agents.c.state == "enrolled").values(values)
            found = (await connection.execute(heard.returning(agents.c.id))).first()
        return None if found is not None else fx.LinkRefusal(reason=_REFUSED)
