"""Session: the life of one link, from Hello until it is lost. It owns its tasks and nothing else.

    receive   what the service says, in order
    send      the outbox, as far as the window allows
    beat      signs of life, and the end of a link that gives none
    compare   hashes over all states, when everything is said and acknowledged

Whatever is under way when the link is lost is found again by the next session: the outbox still
has it, and a task is known by its id.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, assert_never

import msgspec
import structlog

from agent.bridge.far_clock import FarClock
from agent.bridge.forgotten import Forgotten
from agent.bridge.link import Link, LinkLostError, LinkRefusedError
from agent.bridge.pulse import Pulse
from agent.bridge.recorder import Recorder
from agent.bridge.states import States
from agent.bridge.uplink import Uplink
from bus.carrier import CarrierError
from bus.jetstream.outbox import Outbox
from bus.link import (
    Ack,
    Beat,
    Bodies,
    Bucket,
    Cancel,
    Credit,
    DownFrame,
    Fenced,
    Hello,
    Item,
    Items,
    Missing,
    Offer,
    Root,
    Roots,
    Task,
    WantBodies,
    WantBuckets,
    Welcome,
)
from bus.link.digest import in_buckets, root_of_members

log = structlog.get_logger()

GAP = "fact.outbox.gap.v1"
_WELCOME_SECONDS = 20.0
_READ_ITEMS, _READ_BYTES = 64, 512 * 1024
_IDLE_SECONDS = 5.0
_QUIET_SECONDS = 0.25
_FORGET_SECONDS = 1.0
_OUTBOX_SECONDS = 15.0
_NO_FENCE_RETURN = 3600.0
_SHORTEST, _LONGEST_BEAT, _LONGEST_COMPARE = 0.1, 15.0, 3600.0
_LARGEST_WINDOW = 10_000


class Desk(Protocol):
    """Where tasks are done."""

    @property
    def running(self) -> tuple[str, ...]: ...
    def offer(self, task: Task) -> None: ...
    def cancel(self, task_id: str) -> None: ...
    def credit(self, task_id: str, chunks: int) -> None: ...
    def connected(self, link: Link | None) -> None:
        """Streams go over this link; None: there is none, streams end."""
        ...


@dataclass(slots=True, kw_only=True)
class Session:
    """`run` returns by raising LinkLostError; `welcome` is set once the far end took us in."""

    link: Link
    hello: Hello
    outbox: Outbox
    forgotten: Forgotten
    recorder: Recorder
    states: States
    desk: Desk
    stale: asyncio.Event
    """What Hello said is not true any more: say it anew."""
    service_clock: FarClock
    welcome: Welcome | None = None
    _uplink: Uplink = field(init=False)
    _pulse: Pulse = field(init=False)
    _compare_every: float = 60.0

    async def run(self) -> None:
        welcome = self.welcome = await self._greet()
        window = int(_between(1, welcome.window, _LARGEST_WINDOW))
        self._uplink = Uplink(acked=max(0, welcome.acked), window=window)
        every = _between(_SHORTEST, welcome.beat_seconds, _LONGEST_BEAT)
        self._pulse = Pulse(every=every, heard=time.monotonic())
        self._compare_every = _between(_SHORTEST, welcome.roots_seconds, _LONGEST_COMPARE)
        await self._tell_gap(welcome.acked)
        await self._forget_through(welcome.acked)
        self.desk.connected(self.link)
        try:
            async with asyncio.TaskGroup() as tasks:
                for work in self._works():
                    tasks.create_task(work(), name=f"link-{work.__name__.strip('_')}")
        except* (LinkLostError, CarrierError) as ended:
            raise _first(ended) from None
        finally:
            self.desk.connected(None)

    def _works(self) -> Sequence[Callable[[], Coroutine[Any, Any, None]]]:
        guards = (self._beat, self._guard, self._until_stale)
        return (self._receive, self._send, self._forget, self._compare, *guards)

    async def _greet(self) -> Welcome:
        await self.link.send(self.hello)
        try:
            async with asyncio.timeout(_WELCOME_SECONDS):
                frame = await self.link.receive()
        except TimeoutError as error:
            raise LinkLostError("no welcome in time") from error
        match frame:
            case Welcome():
                self.service_clock.hear(frame.server_time)
                log.info("link is up", fence=frame.fence, acked=frame.acked)
                if frame.quarantined:
                    log.warning("the service keeps this epoch apart until a person accepts it")
                await self._same_past(frame)
                return frame
            case Fenced():
                raise _fenced(frame)
            case _:
                raise LinkLostError(f"expected a welcome, got {type(frame).__name__}")

    async def _same_past(self, welcome: Welcome) -> None:
        """More acknowledged than was ever said: our outbox is older than it, so not the same."""
        if welcome.acked > self.hello.outbox:
            await self.outbox.renew()
            raise LinkLostError("the service knows more of this outbox than it holds: new epoch")

    # --- down ---------------------------------------------------------------------------------

    async def _receive(self) -> None:
        while True:
            frame = await self.link.receive()
            beat = frame if isinstance(frame, Beat) else None
            self._pulse.hear(time.monotonic(), beat)
            if beat is not None:
                self.service_clock.hear(beat.sent_at)
            await self._heard(frame)

    async def _heard(self, frame: DownFrame) -> None:
        match frame:
            case Ack():
                self._uplink.ack(frame.through, time.monotonic())
                self.recorder.news.set()
            case Missing():
                if self._uplink.rewind(frame.after, time.monotonic()):
                    log.info("sending again", after=frame.after)
                self.recorder.news.set()
            case WantBuckets():
                await self._send_buckets(frame)
            case WantBodies():
                await self._send_bodies(frame)
            case Offer() | Cancel() | Credit():
                self._heard_of_task(frame)
            case Fenced():
                raise _fenced(frame)
            case Welcome() | Beat():
                pass
            case _:
                assert_never(frame)

    def _heard_of_task(self, frame: Offer | Cancel | Credit) -> None:
        match frame:
            case Offer():
                self.desk.offer(frame.task)
            case Cancel():
                self.desk.cancel(frame.id)
            case Credit():
                self.desk.credit(frame.task, frame.chunks)
            case _:
                assert_never(frame)

    async def _send_buckets(self, wanted: WantBuckets) -> None:
        through = (await self.outbox.standing()).newest
        buckets = in_buckets(await self.states.members(wanted.kind))
        for number in wanted.buckets:
            members = tuple(buckets.get(number, ()))
            await self.link.send(
                Bucket(kind=wanted.kind, bucket=number, members=members, through=through)
            )

    async def _send_bodies(self, wanted: WantBodies) -> None:
        items = (self.states.item(wanted.kind, subject) for subject in wanted.subjects)
        for part in _parts(tuple(items)):
            await self.link.send(Bodies(kind=wanted.kind, items=part))

    # --- up -----------------------------------------------------------------------------------

    async def _send(self) -> None:
        while True:
            self.recorder.news.clear()
            now = time.monotonic()
            if self._uplink.overdue(now):
                log.warning("no acknowledgement for long: sending again", after=self._uplink.acked)
            if not self._uplink.room or not await self._send_some():
                await self._until_news()

    async def _send_some(self) -> bool:
        """False at the end of the outbox."""
        limit = min(_READ_ITEMS, self._uplink.room)
        after = self._uplink.cursor
        stored = await self.outbox.read(after, limit=limit, max_bytes=_READ_BYTES)
        if after != self._uplink.cursor:
            return True  # asked to go back in the meantime: what was read is of no use
        items = self._uplink.take(stored, time.monotonic())
        if items:
            await self.link.send(Items(items=items))
        return bool(stored)

    async def _until_news(self) -> None:
        """Something recorded, acknowledged or asked for again; or time to look anyway."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_IDLE_SECONDS):
                await self.recorder.news.wait()

    async def _beat(self) -> None:
        while True:
            now = time.monotonic()
            if self._pulse.is_lost(now):
                raise LinkLostError("nothing was heard for too long: the link is half open")
            beat = self._pulse.beat(now, time.time())
            if beat is not None:
                await self.link.send(beat)
            await asyncio.sleep(self._pulse.look_every)

    async def _forget(self) -> None:
        forgotten = self._uplink.acked
        while True:
            await asyncio.sleep(_FORGET_SECONDS)
            if self._uplink.acked > forgotten:
                forgotten = self._uplink.acked
                await self._forget_through(forgotten)

    async def _forget_through(self, through: int) -> None:
        """Noted before it is done: rather a gap told that is none than one that is not told."""
        if through:
            await self.forgotten.note(self.hello.epoch, through)
            await self.outbox.forget(through)

    async def _tell_gap(self, acked: int) -> None:
        """The service knows less than it once acknowledged: what is gone here is gone."""
        through = await self.forgotten.through(self.hello.epoch)
        if through > acked:
            log.warning("the service forgot what it acknowledged", after=acked, through=through)
            await self.recorder.note(GAP, {"after": acked, "through": through})

    async def _guard(self) -> None:
        """The outbox may be lost and made again under us: then nothing we say is of its epoch."""
        while True:
            await asyncio.sleep(_OUTBOX_SECONDS)
            standing = await self.outbox.standing()
            if standing.epoch != self.hello.epoch or standing.newest < self._uplink.cursor:
                raise LinkLostError("the outbox is another one than at the beginning")

    async def _until_stale(self) -> None:
        await self.stale.wait()
        self.stale.clear()
        raise LinkLostError("what this agent allows has changed")

    async def _compare(self) -> None:
        """When all that is known is said and acknowledged, and then now and again."""
        while True:
            if await self._is_quiet():
                await self._send_roots()
                await asyncio.sleep(self._compare_every)
            else:
                await asyncio.sleep(_QUIET_SECONDS)

    async def _is_quiet(self) -> bool:
        if not (self._uplink.in_step and self.recorder.settled):
            return False
        return (await self.outbox.standing()).newest <= self._uplink.cursor

    async def _send_roots(self) -> None:
        kinds: dict[str, Root] = {}
        for kind in self.states.kinds:
            members = await self.states.members(kind)
            kinds[kind] = Root(root=root_of_members(members), count=len(members))
        await self.link.send(Roots(kinds=kinds, through=self._uplink.acked))


def _between(least: float, said: float, most: float) -> float:
    """What the service says is taken within reason."""
    return min(max(least, said), most)


def _fenced(frame: Fenced) -> LinkLostError:
    if frame.retry_after > 0:
        return LinkLostError(f"fenced: {frame.reason}", retry_after=frame.retry_after)
    return LinkRefusedError(f"fenced: {frame.reason}", retry_after=_NO_FENCE_RETURN)


def _first(group: ExceptionGroup[LinkLostError | CarrierError]) -> LinkLostError:
    """One reason is enough to say; what the service told us counts most."""
    found = list(_flat(group))
    for error in found:
        if isinstance(error, LinkRefusedError):
            return error
    first = found[0]
    return first if isinstance(first, LinkLostError) else LinkLostError(f"outbox: {first}")


def _flat(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for one in error.exceptions:
            yield from _flat(one)
    else:
        yield error


def _parts(items: Sequence[Item]) -> Sequence[tuple[Item, ...]]:
    """So many at a time that a frame keeps below its limit."""
    parts: list[list[Item]] = [[]]
    size = 0
    for item in items:
        length = len(msgspec.json.encode(item))
        if parts[-1] and size + length > _READ_BYTES:
            parts.append([])
            size = 0
        parts[-1].append(item)
        size += length
    return [tuple(part) for part in parts if part]
