"""LinkProtocol: the agent's side of the link protocol, as steps at a time that the caller passes.

    on_welcome   where the outbox continues, and which entries are lost for good
    on_frame     one frame of the service
    send         entries of the outbox, as far as the window allows
    beat         a heartbeat, and the end of a link that has been silent for too long
    purge        entries that the service has acknowledged
    compare      hashes over all states, when every entry is acknowledged

No step waits for time to pass or owns a task: link_session.py does. What is unfinished when the
link is lost is found again by the next link: the entries are still in the outbox, and a task is
known by its id.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, assert_never

import structlog

from agent.bridge.connection.link_terms import Heartbeat, fenced, terms_of, welcome_of
from agent.bridge.connection.outbox_gap import OutboxGap
from agent.bridge.connection.uplink import Uplink
from agent.bridge.identity.audit_heads import WitnessedHeads
from agent.bridge.reporting.object_states import (
    ObjectStates,
    bodies_of,
    buckets_of,
    roots_of,
    subjects_of,
)
from agent.bridge.reporting.recorder import Recorder
from agent.bridge.transport.link import AgentLink, LinkLostError, ServiceClock
from bus.jetstream.outbox import Outbox
from bus.link import (
    Ack,
    Beat,
    BucketMember,
    Cancel,
    Credit,
    DownFrame,
    Fenced,
    Hello,
    Items,
    KeepHead,
    KeptHeads,
    LinkTask,
    Missing,
    Offer,
    TerminalInput,
    WantBodies,
    WantBuckets,
    Welcome,
)

log = structlog.get_logger()

GAP = "fact.outbox.gap.v1"
READ_BYTES = 512 * 1024
_READ_ITEMS = 64


class TaskSink(Protocol):
    """Accepts the tasks that arrive over the link."""

    @property
    def running(self) -> tuple[str, ...]: ...
    def offer(self, task: LinkTask) -> None: ...
    def cancel(self, task_id: str) -> None: ...
    def credit(self, task_id: str, chunks: int) -> None: ...
    def input(self, frame: TerminalInput) -> None: ...
    def connected(self, link: AgentLink | None) -> None:
        """Send streams over this link from now on; None ends all streams."""
        ...


@dataclass(slots=True, kw_only=True)
class LinkProtocol:
    """Every step raises LinkLostError, or CarrierError if the outbox does not answer."""

    link: AgentLink
    hello: Hello
    outbox: Outbox
    outbox_gap: OutboxGap
    recorder: Recorder
    states: ObjectStates
    task_sink: TaskSink
    service_clock: ServiceClock
    heads: WitnessedHeads
    welcome: Welcome | None = None
    """Set once the service has accepted the agent."""
    _uplink: Uplink = field(init=False)
    _heartbeat: Heartbeat = field(init=False)
    _compare_at: float = 0.0
    _compare_every: float = 60.0

    @property
    def check_every(self) -> float:
        """Seconds between two calls of `beat`, which sends only if a beat is due."""
        return self._heartbeat.check_every

    async def on_welcome(self, frame: DownFrame, now: float) -> None:
        """Set up the link from `frame`, the answer to our Hello."""
        welcome = welcome_of(frame)
        log.info("link is up", fence=welcome.fence, acked=welcome.acked)
        if welcome.quarantined:
            log.warning("the service keeps this epoch apart until a person accepts it")
        await self.outbox_gap.check(welcome.acked, self.hello.outbox)
        self.welcome, terms = welcome, terms_of(welcome)
        self.service_clock.synchronise(welcome.server_time)
        self._uplink = Uplink(acked=max(0, welcome.acked), window=terms.window)
        self._heartbeat = Heartbeat(every=terms.beat_every, last_received=now)
        self._compare_at, self._compare_every = now, terms.compare_every
        if gap := await self.outbox_gap.gap(welcome.acked):
            await self.recorder.record_link_fact(GAP, gap)
        await self.purge()

    # --- down ---------------------------------------------------------------------------------

    async def on_frame(self, frame: DownFrame, now: float) -> None:
        beat = frame if isinstance(frame, Beat) else None
        self._heartbeat.received(now, beat)
        if beat is not None:
            self.service_clock.synchronise(beat.sent_at)
        match frame:
            case Ack() | Missing():
                self._on_delivery(frame, now)
            case WantBuckets() | WantBodies():
                await self._answer_query(frame)
            case KeepHead():
                await self.link.send(KeptHeads(heads=await self.heads.keep(frame.head)))
            case Offer() | Cancel() | Credit() | TerminalInput():
                self._on_task(frame)
            case Fenced():
                raise fenced(frame)
            case Welcome() | Beat():
                pass
            case _:
                assert_never(frame)

    def _on_delivery(self, frame: Ack | Missing, now: float) -> None:
        match frame:
            case Ack():
                self._uplink.ack(frame.through, now)
            case Missing():
                if self._uplink.rewind(frame.after, now):
                    log.info("sending again", after=frame.after)
            case _:
                assert_never(frame)
        self.recorder.outbox_changed.set()

    def _on_task(self, frame: Offer | Cancel | Credit | TerminalInput) -> None:
        match frame:
            case Offer():
                self.task_sink.offer(frame.task)
            case Cancel():
                self.task_sink.cancel(frame.id)
            case Credit():
                self.task_sink.credit(frame.task, frame.chunks)
            case TerminalInput():
                self.task_sink.input(frame)
            case _:
                assert_never(frame)

    async def _answer_query(self, query: WantBuckets | WantBodies) -> None:
        match query:
            case WantBuckets():
                through = (await self.outbox.position()).newest
                members = await self.states.members(query.kind)
                for bucket in buckets_of(query, members, through):
                    await self.link.send(bucket)
            case WantBodies():
                items = (self.states.item(query.kind, subject) for subject in subjects_of(query))
                for bodies in bodies_of(query.kind, tuple(items), READ_BYTES):
                    await self.link.send(bodies)
            case _:
                assert_never(query)

    # --- up -----------------------------------------------------------------------------------

    async def send(self, now: float) -> bool:
        """Send the next entries; False if the window is full or the outbox has no more."""
        if self._uplink.overdue(now):
            log.warning("no acknowledgement for long: sending again", after=self._uplink.acked)
        limit = min(_READ_ITEMS, self._uplink.free)
        if not limit:
            return False
        after = self._uplink.cursor
        stored = await self.outbox.read(after, limit=limit, max_bytes=READ_BYTES)
        if after != self._uplink.cursor:
            return True  # a Missing frame rewound the cursor during the read: read again from there
        items = self._uplink.take(stored, now)
        if items:
            await self.link.send(Items(items=items))
        return bool(stored)

    async def beat(self, now: float, wall: float) -> None:
        """`wall` is compared across machines, `now` is monotonic."""
        if self._heartbeat.is_lost(now):
            raise LinkLostError("no frame arrived for too long: the link is half open")
        beat = self._heartbeat.beat(now, wall)
        if beat is not None:
            await self.link.send(beat)

    async def purge(self) -> None:
        await self.outbox_gap.purge(self._uplink.acked)

    async def compare(self, now: float) -> None:
        """Send the hashes of all states, if that is due and every entry is acknowledged."""
        if now < self._compare_at or not await self.is_quiet():
            return
        self._compare_at = now + self._compare_every
        known: dict[str, tuple[BucketMember, ...]] = {}
        for kind in self.states.kinds:
            known[kind] = tuple(await self.states.members(kind))
        await self.link.send(roots_of(known, self._uplink.acked))

    async def check(self) -> None:
        """Raise LinkLostError if the outbox was lost and made again: its epoch is another one."""
        position = await self.outbox.position()
        if position.epoch != self.hello.epoch or position.newest < self._uplink.cursor:
            raise LinkLostError("the outbox was replaced: connecting again with its new epoch")

    async def is_quiet(self) -> bool:
        """Whether every state is recorded, sent and acknowledged."""
        if not (self._uplink.is_acknowledged and self.recorder.is_up_to_date):
            return False
        return (await self.outbox.position()).newest <= self._uplink.cursor
