"""Talk: what is said over one link and what is answered, a step at a time, at a time that is given.

    greet     Hello and Welcome: where to go on, and what is missing for good
    hear      one frame of the service
    send      a part of the outbox, as far as the window allows
    beat      a sign of life, and the end of a link that gives none
    forget    what was acknowledged
    compare   hashes over all states, when everything is said and acknowledged

Nothing here waits for time to pass, and nothing owns a task: session.py does. What is under way
when the link is lost is found again by the next talk: the outbox still has it, and a task is known
by its id.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, assert_never

import structlog

from agent.bridge import answers
from agent.bridge.far_clock import FarClock
from agent.bridge.greeting import fenced, pace_of, welcome_of
from agent.bridge.heads import HeadBook
from agent.bridge.link import Link, LinkLostError
from agent.bridge.past import Past
from agent.bridge.pulse import Pulse
from agent.bridge.recorder import Recorder
from agent.bridge.states import States
from agent.bridge.uplink import Uplink
from bus.jetstream.outbox import Outbox
from bus.link import (
    Ack,
    Beat,
    Cancel,
    Credit,
    DownFrame,
    Fenced,
    Hello,
    Items,
    KeepHead,
    KeptHeads,
    Member,
    Missing,
    Offer,
    Task,
    WantBodies,
    WantBuckets,
    Welcome,
)

log = structlog.get_logger()

GAP = "fact.outbox.gap.v1"
READ_BYTES = 512 * 1024
_READ_ITEMS = 64


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
class Talk:
    """Steps raise LinkLostError, and CarrierError where the outbox does not answer."""

    link: Link
    hello: Hello
    outbox: Outbox
    past: Past
    recorder: Recorder
    states: States
    desk: Desk
    service_clock: FarClock
    heads: HeadBook
    welcome: Welcome | None = None
    """Set once the far end took us in."""
    _uplink: Uplink = field(init=False)
    _pulse: Pulse = field(init=False)
    _compare_at: float = 0.0
    _compare_every: float = 60.0

    @property
    def look_every(self) -> float:
        """Seconds between two beats at most: how often to see whether one is due."""
        return self._pulse.look_every

    async def greet(self, frame: DownFrame, now: float) -> None:
        """`frame`: the answer to our Hello."""
        welcome = welcome_of(frame)
        log.info("link is up", fence=welcome.fence, acked=welcome.acked)
        if welcome.quarantined:
            log.warning("the service keeps this epoch apart until a person accepts it")
        await self.past.check(welcome.acked, self.hello.outbox)
        self.welcome, pace = welcome, pace_of(welcome)
        self.service_clock.hear(welcome.server_time)
        self._uplink = Uplink(acked=max(0, welcome.acked), window=pace.window)
        self._pulse = Pulse(every=pace.beat_every, heard=now)
        self._compare_at, self._compare_every = now, pace.compare_every
        if gap := await self.past.gap(welcome.acked):
            await self.recorder.note(GAP, gap)
        await self.forget()

    # --- down ---------------------------------------------------------------------------------

    async def hear(self, frame: DownFrame, now: float) -> None:
        beat = frame if isinstance(frame, Beat) else None
        self._pulse.hear(now, beat)
        if beat is not None:
            self.service_clock.hear(beat.sent_at)
        match frame:
            case Ack() | Missing():
                self._heard_of_items(frame, now)
            case WantBuckets() | WantBodies():
                await self._answer(frame)
            case KeepHead():
                await self.link.send(KeptHeads(heads=await self.heads.keep(frame.head)))
            case Offer() | Cancel() | Credit():
                self._heard_of_task(frame)
            case Fenced():
                raise fenced(frame)
            case Welcome() | Beat():
                pass
            case _:
                assert_never(frame)

    def _heard_of_items(self, frame: Ack | Missing, now: float) -> None:
        match frame:
            case Ack():
                self._uplink.ack(frame.through, now)
            case Missing():
                if self._uplink.rewind(frame.after, now):
                    log.info("sending again", after=frame.after)
            case _:
                assert_never(frame)
        self.recorder.news.set()

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

    async def _answer(self, wanted: WantBuckets | WantBodies) -> None:
        match wanted:
            case WantBuckets():
                through = (await self.outbox.standing()).newest
                members = await self.states.members(wanted.kind)
                for bucket in answers.buckets(wanted, members, through):
                    await self.link.send(bucket)
            case WantBodies():
                items = (self.states.item(wanted.kind, subject) for subject in wanted.subjects)
                for bodies in answers.bodies(wanted.kind, tuple(items), READ_BYTES):
                    await self.link.send(bodies)
            case _:
                assert_never(wanted)

    # --- up -----------------------------------------------------------------------------------

    async def send(self, now: float) -> bool:
        """False where there is no room, or nothing more to say."""
        if self._uplink.overdue(now):
            log.warning("no acknowledgement for long: sending again", after=self._uplink.acked)
        limit = min(_READ_ITEMS, self._uplink.room)
        if not limit:
            return False
        after = self._uplink.cursor
        stored = await self.outbox.read(after, limit=limit, max_bytes=READ_BYTES)
        if after != self._uplink.cursor:
            return True  # asked to go back in the meantime: what was read is of no use
        items = self._uplink.take(stored, now)
        if items:
            await self.link.send(Items(items=items))
        return bool(stored)

    async def beat(self, now: float, wall: float) -> None:
        """`wall` is compared across machines, `now` only goes on."""
        if self._pulse.is_lost(now):
            raise LinkLostError("nothing was heard for too long: the link is half open")
        beat = self._pulse.beat(now, wall)
        if beat is not None:
            await self.link.send(beat)

    async def forget(self) -> None:
        await self.past.forget(self._uplink.acked)

    async def compare(self, now: float) -> None:
        """Where it is time, and all that is known is said and acknowledged."""
        if now < self._compare_at or not await self.is_quiet():
            return
        self._compare_at = now + self._compare_every
        known: dict[str, tuple[Member, ...]] = {}
        for kind in self.states.kinds:
            known[kind] = tuple(await self.states.members(kind))
        await self.link.send(answers.roots(known, self._uplink.acked))

    async def check(self) -> None:
        """The outbox may be lost and made again under us: then nothing we say is of its epoch."""
        standing = await self.outbox.standing()
        if standing.epoch != self.hello.epoch or standing.newest < self._uplink.cursor:
            raise LinkLostError("the outbox is another one than at the beginning")

    async def is_quiet(self) -> bool:
        """All that is known was said and acknowledged."""
        if not (self._uplink.in_step and self.recorder.settled):
            return False
        return (await self.outbox.standing()).newest <= self._uplink.cursor
