"""The service's side: the real state machine and the real effects on PostgreSQL, without a socket.

What socket.py does, without sockets: feed, carry out, feed again. The clock is the walk's.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import msgspec
from sqlalchemy import Table, delete, func, insert, select, text
from sqlalchemy.ext.asyncio import AsyncEngine

from bus.identity import new_id
from bus.link import DownFrame, Root, SyncArguments, UpFrame
from service.gateway import effects as fx
from service.gateway import reported_hashes
from service.gateway.connection import step
from service.gateway.effect_runner import EffectRunner
from service.gateway.epochs import accept
from service.gateway.link_state import LinkState, SessionTerms, new_link
from service.gateway.sessions import SessionHolder
from service.gateway.task_store import QueuedTask, TaskStore
from service.gateway.task_streams import TaskStreams
from service.projection.batch import BatchScope
from service.projection.writer import ProjectionWriter
from service.store.signals import Signals
from service.store.tables import accounts, agents, applications, epochs, facts, objects, tasks
from tests.service.service_fixture import key_file

_FRAMES: msgspec.json.Decoder[UpFrame] = msgspec.json.Decoder(UpFrame)
_SESSION = 900.0
_PARTS: tuple[Table, ...] = (agents, epochs, objects, applications, facts, tasks)
"""What a backup holds; the rest has no part in the link."""


class ClosedError(Exception):
    """The service ended the connection."""


@dataclass(slots=True, kw_only=True)
class ServiceSide:
    engine: AsyncEngine
    clock: Callable[[], float]
    account: str
    agent: str
    link: LinkState | None = None
    saved: bool = False

    async def begin(self) -> None:
        async with self.engine.begin() as connection:
            account = {"id": self.account, "name": self.account[:20]}
            await connection.execute(insert(accounts).values(account))
            row = {"id": self.agent, "account_id": self.account, "name": "prod"}
            await connection.execute(insert(agents).values(state="enrolled", **row))
            await connection.execute(text("CREATE SCHEMA saved"))

    # --- the connection -----------------------------------------------------------------------

    def connect(self) -> None:
        caller = SessionHolder(
            account_id=self.account,
            account=self.account,
            agent_id=self.agent,
            agent=self.agent,
            expires_at=self.clock() + _SESSION,
        )
        self.link = new_link(caller, SessionTerms(), self.clock())

    async def take(self, data: bytes) -> list[DownFrame]:
        """Raises ClosedError."""
        try:
            return await self._feed(_FRAMES.decode(data))
        except msgspec.DecodeError as error:
            raise ClosedError from error

    async def tick(self) -> list[DownFrame]:
        return await self._feed(fx.ClockTick())

    async def end(self) -> None:
        """In order, as where a socket closes; `kill` tells nobody."""
        link, self.link = self.link, None
        if link is not None and link.opened is not None:
            await self._carrier().close(link.opened)

    def kill(self) -> None:
        self.link = None

    async def _feed(self, value: fx.Input) -> list[DownFrame]:
        sent: list[DownFrame] = []
        inputs = deque((value,))
        while inputs:
            if self.link is None:
                raise ClosedError
            stepped = step(self.link, inputs.popleft(), self.clock())
            self.link = stepped.link
            sent += stepped.frames
            answers = [await self._carry(effect) for effect in stepped.effects]
            inputs.extend(answer for answer in answers if answer is not None)
        return sent

    async def _carry(self, effect: fx.Effect) -> fx.Input | None:
        assert self.link is not None
        match effect:
            case fx.CloseLink():
                raise ClosedError
            case fx.OpenLink():
                return await self._carrier().open(self.link.caller, effect)
            case fx.PingAgent():
                return fx.PongReceived(took=0.01)
            case _ if self.link.opened is None:
                return None
            case _:
                return await self._carrier()(self.link.opened, effect)

    def _carrier(self) -> EffectRunner:
        """Nothing of it outlives an effect, so a replica that dies takes nothing with it."""
        signals = Signals(url="")
        return EffectRunner(
            engine=self.engine,
            writer=ProjectionWriter(engine=self.engine, clock=self._now),
            streams=TaskStreams(engine=self.engine, signals=signals),
            keys=key_file(),
            clock=self._now,
            replica="one",
        )

    def _now(self) -> datetime:
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=self.clock())

    # --- people and disks ---------------------------------------------------------------------

    async def submit(self) -> None:
        made = TaskStore(engine=self.engine, signals=Signals(url=""), clock=self._now)
        new = QueuedTask(
            account_id=self.account, agent_id=self.agent, arguments=SyncArguments(), actor="test"
        )
        async with self.engine.begin() as connection:
            await made.submit(connection, new)

    async def accept(self, epoch: str) -> bool:
        """The wish that follows is lost: nobody hears it here."""
        async with self.engine.begin() as connection:
            return await accept(connection, self.agent, epoch, self._now())

    async def save(self) -> None:
        async with self.engine.begin() as connection:
            for table in _PARTS:
                await connection.execute(text(f"DROP TABLE IF EXISTS saved.{table.name}"))
                await connection.execute(
                    text(f"CREATE TABLE saved.{table.name} AS TABLE public.{table.name}")
                )
        self.saved = True

    async def restore(self) -> None:
        async with self.engine.begin() as connection:
            for table in reversed(_PARTS):
                await connection.execute(delete(table))
            for table in _PARTS:
                await connection.execute(
                    text(f"INSERT INTO public.{table.name} TABLE saved.{table.name}")
                )
        self.link = None

    # --- what it holds ------------------------------------------------------------------------

    async def state(self, epoch: str) -> str:
        query = select(epochs.c.state).where(epochs.c.epoch == epoch)
        async with self.engine.connect() as connection:
            return (await connection.execute(query)).scalar_one_or_none() or ""

    async def differing(self, epoch: str, kinds: Mapping[str, Root]) -> tuple[str, ...]:
        scope = BatchScope(
            account_id=self.account,
            agent_id=self.agent,
            agent="prod",
            environment="",
            region="",
            epoch=epoch,
        )
        async with self.engine.connect() as connection:
            return await reported_hashes.differing(connection, scope, kinds)

    async def shown(self) -> set[str]:
        query = select(applications.c.namespace + "/" + applications.c.name)
        async with self.engine.connect() as connection:
            return set((await connection.execute(query)).scalars())

    async def recorded_facts(self) -> list[str]:
        """Facts of the agent; those of the link itself tell what is missing."""
        query = select(facts.c.event_id).where(facts.c.type.not_like("fact.outbox.%"))
        async with self.engine.connect() as connection:
            return list((await connection.execute(query)).scalars())

    async def tasks(self) -> dict[str, str]:
        query = select(tasks.c.id, tasks.c.phase)
        async with self.engine.connect() as connection:
            return {row.id: row.phase for row in await connection.execute(query)}

    async def in_step(self) -> bool:
        query = select(func.bool_and(agents.c.roots_in_step))
        async with self.engine.connect() as connection:
            return bool((await connection.execute(query)).scalar_one())


def names() -> tuple[str, str]:
    """Of an account and an agent."""
    return new_id(), new_id()
