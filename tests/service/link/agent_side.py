"""The agent's side: the real Talk, Recorder and States over the real outbox on a real NATS.

Only time, the road and the cluster are the walk's: what session.py repeats by the clock is done
here once a virtual second. `kill` loses what memory holds; `recreate` loses the cluster with all
that stood in it, the outbox and the log of results too. Tasks are a model: their real desk works
with threads of time of its own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

from agent.bridge.connection.link_protocol import LinkProtocol
from agent.bridge.connection.outbox_gap import OutboxGap, PurgeMark
from agent.bridge.identity.audit_heads import AuditWitness, WitnessedHeads
from agent.bridge.reporting.finished_operations import FinishedOperations
from agent.bridge.reporting.object_states import ObjectStates, roots_of
from agent.bridge.reporting.outbox_entries import Evictions
from agent.bridge.reporting.recorder import Recorder
from agent.bridge.reporting.state_sources import StateSource
from agent.bridge.transport.link import AgentLink, LinkLostError, ServiceClock
from agent.clock import SystemClock
from bus.identity import new_id
from bus.jetstream import Bus
from bus.jetstream.outbox import Outbox
from bus.link import (
    PROTOCOL,
    DownFrame,
    Hello,
    ItemKind,
    Items,
    LinkItem,
    LinkTask,
    Roots,
    StateBody,
    TaskPhase,
    TaskResult,
    TerminalInput,
    UpFrame,
)
from bus.link.kinds import APPLICATION
from handlers.application.application import Metadata
from handlers.report.items import ItemStamp, note_item, result_item, state_item
from handlers.report.known_secrets import KnownSecrets
from handlers.report.redaction import Redaction
from tests.service.fake_agent import application
from tests.service.link.outbox_fixture import held, make_box

_NAMES = 30
_WELCOME_WITHIN = 20.0
_IDLE, _CHECK = 5.0, 15.0


@dataclass(slots=True)
class SimulatedCluster:
    """What only the loss of the cluster loses, and what the test knows of it."""

    number: int
    objects: dict[str, tuple[str, StateBody]] = field(default_factory=dict)
    """Applications: subject -> uid and body."""
    results: dict[str, TaskResult | None] = field(default_factory=dict)
    """None: begun, and no end is known."""
    effects: Counter[str] = field(default_factory=Counter)
    """What commands did here."""
    recorded: set[str] = field(default_factory=set)
    """Ids of every fact that the outbox ever held."""
    waiting: set[str] = field(default_factory=set)
    """Those that were neither acknowledged nor thrown out."""
    sent: dict[int, str] = field(default_factory=dict)
    """Sequence -> id of each fact that was sent."""


@dataclass(slots=True)
class HeadWitness:
    """What the agent keeps of the service's audit."""

    kept: AuditWitness = field(default_factory=AuditWitness)

    async def load_witness(self) -> AuditWitness:
        return self.kept

    async def save_witness(self, witness: AuditWitness) -> None:
        self.kept = witness


@dataclass(slots=True)
class FrameSender:
    """The link as the agent has it: what is said is put on the road by the walk."""

    cluster: SimulatedCluster
    sent: list[UpFrame] = field(default_factory=list)

    async def send(self, frame: UpFrame) -> None:
        if isinstance(frame, Items):
            facts = (item for item in frame.items if item.kind is ItemKind.FACT)
            self.cluster.sent |= {item.sequence: item.id for item in facts}
        self.sent.append(frame)

    async def receive(self) -> DownFrame:
        raise LinkLostError("frames are heard as the walk delivers them")


@dataclass(slots=True, kw_only=True)
class AgentSide:
    chance: Random
    account: str
    agent: str
    bus: Bus
    purge_mark: PurgeMark
    cluster: SimulatedCluster = field(default_factory=lambda: SimulatedCluster(0))
    excused: set[str] = field(default_factory=set)
    """Facts that may be missing at the far end, because it was told that some are."""
    lost_facts: set[str] = field(default_factory=set)
    """Facts of clusters that are gone."""
    witness: HeadWitness = field(default_factory=HeadWitness)
    _outbox: Outbox = field(init=False)
    _recorder: Recorder = field(init=False)
    _states: ObjectStates = field(init=False)
    _protocol: LinkProtocol | None = None
    _sender: FrameSender = field(init=False)
    _since: float = 0.0
    _looked: float = 0.0
    _checked: float = 0.0
    _held: list[str] = field(default_factory=list)

    # --- a desk for tasks ---------------------------------------------------------------------

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(self._held)

    def offer(self, task: LinkTask) -> None:
        if task.id not in self._held:
            self._held.append(task.id)

    def cancel(self, task_id: str) -> None:
        """Nobody cancels here."""

    def credit(self, task_id: str, chunks: int) -> None:
        """Nothing streams here."""

    def input(self, frame: TerminalInput) -> None:
        """Nothing streams here."""

    def connected(self, link: AgentLink | None) -> None:
        """Nothing streams here."""

    # --- the link -----------------------------------------------------------------------------

    async def hello(self, now: float) -> Hello:
        position = await self._outbox.position()
        hello = Hello(
            account=self.account,
            agent=self.agent,
            instance="one",
            epoch=position.epoch,
            protocol=PROTOCOL,
            version="1",
            outbox=position.newest,
            cluster_uid=f"cluster-{self.cluster.number}",
            running=self.running,
        )
        self._since = self._looked = self._checked = now
        self._sender = FrameSender(self.cluster)
        self._protocol = LinkProtocol(
            link=self._sender,
            hello=hello,
            outbox=self._outbox,
            outbox_gap=OutboxGap(
                epoch=hello.epoch, outbox=self._outbox, purge_mark=self.purge_mark
            ),
            recorder=self._recorder,
            states=self._states,
            task_sink=self,
            service_clock=ServiceClock(),
            heads=WitnessedHeads(store=self.witness),
        )
        return hello

    async def receive(self, frame: DownFrame, now: float) -> list[UpFrame]:
        """Raises LinkLostError."""
        protocol = self._connected_protocol()
        if protocol.welcome is not None:
            await protocol.on_frame(frame, now)
            return self._sent_frames()
        before = await self.purge_mark.through(protocol.hello.epoch)
        await protocol.on_welcome(frame, now)
        acked = protocol.welcome.acked if protocol.welcome else 0
        gap = range(acked + 1, before + 1)
        self.excused |= {self.cluster.sent[n] for n in gap if n in self.cluster.sent}
        self._recorder.outbox_changed.set()
        return self._sent_frames()

    async def tick(self, now: float, wall: float) -> list[UpFrame]:
        """What session.py does by the clock. Raises LinkLostError."""
        protocol = self._connected_protocol()
        if protocol.welcome is None:
            if now - self._since > _WELCOME_WITHIN:
                raise LinkLostError("no welcome in time")
            return []
        await protocol.beat(now, wall)
        await protocol.purge()
        if self._recorder.outbox_changed.is_set() or now - self._looked >= _IDLE:
            self._recorder.outbox_changed.clear()
            self._looked = now
            while await protocol.send(now):
                pass
        await protocol.compare(now)
        if now - self._checked >= _CHECK:
            self._checked = now
            await protocol.check()
        return self._sent_frames()

    async def is_quiet(self) -> bool:
        """All is said and acknowledged, and nothing is being done."""
        protocol = self._protocol
        if protocol is None or protocol.welcome is None or self._held:
            return False
        return await protocol.is_quiet()

    async def epoch(self) -> str:
        return (await self._outbox.position()).epoch

    async def roots(self) -> Roots:
        """As they truly are."""
        return roots_of({APPLICATION.name: await self._states.members(APPLICATION.name)}, 0)

    def _connected_protocol(self) -> LinkProtocol:
        if self._protocol is None:
            raise LinkLostError("nobody is there")
        return self._protocol

    def _sent_frames(self) -> list[UpFrame]:
        sent, self._sender.sent = self._sender.sent, []
        return sent

    # --- what happens in the agent ------------------------------------------------------------

    async def happen(self) -> None:
        """One object changes, comes or goes, or there is a fact of it."""
        name = f"app-{self.chance.randrange(_NAMES)}"
        subject, objects = f"argocd/{name}", self.cluster.objects
        match self.chance.randrange(5):
            case 0 if subject in objects:
                del objects[subject]
            case 1:
                await self._record(note_item("fact.app.compared.v1", {}, _stamp()))
                return
            case _:
                health = self.chance.choice(("Healthy", "Degraded", "Progressing"))
                uid = f"{name}-{self.cluster.number}-{self.chance.randrange(2)}"
                objects[subject] = (uid, application(name, health=health))
        if self.chance.random() > 0.1:  # else: the agent died before it was recorded
            await self._record(self._states.item(APPLICATION.name, subject))

    async def work(self) -> None:
        """Each task goes one step on: begun, done, its end recorded, its end told."""
        for task_id in [it for it in self._held if self.chance.random() < 0.5]:
            results, effects = self.cluster.results, self.cluster.effects
            if task_id not in results:
                results[task_id] = None
            elif results[task_id] is None and not effects[task_id]:
                effects[task_id] += 1
            elif (result := results[task_id]) is None:
                results[task_id] = TaskResult(id=task_id, phase=TaskPhase.SUCCEEDED, code="ok")
            else:
                await self._record(result_item(result, _stamp()))
                self._held.remove(task_id)

    def kill(self) -> None:
        """What was begun is not memory; all this is."""
        self._held, self._protocol, self._outbox = [], None, self.bus.outbox()
        clock = SystemClock()
        self._states = ObjectStates(sources=(self._source(),), redaction=_redaction(), clock=clock)
        self._recorder = Recorder(
            bus=self.bus,
            outbox=self._outbox,
            evictions=Evictions(outbox=self._outbox, clock=clock),
            states=self._states,
            finished_operations=FinishedOperations(),
        )

    async def recreate(self) -> None:
        self.lost_facts |= self.cluster.recorded
        self.cluster = SimulatedCluster(self.cluster.number + 1)
        await make_box(self.bus)
        self.kill()

    async def overflow(self) -> None:
        """Until something had to be thrown out."""
        before = self._thrown_out()
        while self._thrown_out() == before:
            await self.happen()

    async def _record(self, item: LinkItem) -> None:
        before = self._thrown_out()
        if item.kind is ItemKind.FACT:
            self.cluster.recorded.add(item.id)
            self.cluster.waiting.add(item.id)
        await self._recorder.record(item)
        if self._thrown_out() != before:
            await self._excuse()

    async def _excuse(self) -> None:
        """What was thrown out of those that nobody had acknowledged."""
        cluster, through = self.cluster, await self.purge_mark.through(await self.epoch())
        acknowledged = {id_ for sequence, id_ in cluster.sent.items() if sequence <= through}
        left = await held(self._outbox)
        self.excused |= cluster.waiting - acknowledged - left
        cluster.waiting &= left

    def _thrown_out(self) -> tuple[int, int]:
        return self._outbox.evicted_states, self._outbox.evicted_facts

    def _source(self) -> StateSource[tuple[str, StateBody]]:
        def shape(
            found: tuple[str, StateBody], stamp: ItemStamp, _redaction: Redaction
        ) -> LinkItem:
            uid, body = found
            metadata = Metadata(namespace=body.namespace, name=body.name, uid=uid)
            return state_item(body, metadata, "default", stamp)

        return StateSource(
            kind=APPLICATION.name,
            all=lambda: self.cluster.objects,
            get=self.cluster.objects.get,
            version=repr,
            shape=shape,
        )


async def new_agent_side(bus: Bus, *, chance: Random, account: str, agent: str) -> AgentSide:
    await make_box(bus)
    purge_mark = PurgeMark(await bus.bucket("link"))
    agent_side = AgentSide(
        chance=chance, account=account, agent=agent, bus=bus, purge_mark=purge_mark
    )
    agent_side.kill()
    return agent_side


def _redaction() -> Redaction:
    return Redaction(salt=b"", known=KnownSecrets(b""))


def _stamp() -> ItemStamp:
    return ItemStamp(id=new_id(), time=SystemClock().now().isoformat())
