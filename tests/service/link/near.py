"""The agent's side as a model: the real Uplink and Pulse, over an outbox that a value can hold.

It decides what agent/bridge/session.py decides, in virtual time. `kill` loses what memory holds;
`recreate` loses the cluster with all that stood in it, the outbox and the log of results too.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import msgspec

from agent.bridge.pulse import Pulse
from agent.bridge.uplink import Uplink
from bus.jetstream.outbox import Stored
from bus.link import (
    PROTOCOL,
    Ack,
    Beat,
    DownFrame,
    Hello,
    Item,
    ItemKind,
    Items,
    Missing,
    Offer,
    TaskPhase,
    TaskResult,
    UpFrame,
    WantBodies,
    WantBuckets,
    Welcome,
)
from tests.service.client import Outbox, application

_NAMES = 30
_FULL = 40
_WELCOME_WITHIN = 20.0
_READ = 8


class LostError(Exception):
    """The agent gives the link up."""


@dataclass(slots=True)
class Cluster:
    """What only the loss of the cluster loses."""

    number: int
    outbox: Outbox = field(default_factory=Outbox)
    kept: dict[int, Item] = field(default_factory=dict)
    facts: dict[int, str] = field(default_factory=dict)
    """Sequence -> id of every fact that was ever recorded."""
    forgotten: int = 0
    results: dict[str, TaskResult | None] = field(default_factory=dict)
    """None: begun, and no end is known."""
    effects: Counter[str] = field(default_factory=Counter)
    """What commands did here."""

    def keep(self, item: Item) -> None:
        """A newer state of an object takes the place of the one that waits."""
        if item.kind is not ItemKind.FACT:
            same = (item.type, item.subject)
            self.kept = {n: it for n, it in self.kept.items() if (it.type, it.subject) != same}
        else:
            self.facts[item.sequence] = item.id
        self.kept[item.sequence] = item

    def read(self, after: int, limit: int) -> list[Stored]:
        found = [sequence for sequence in sorted(self.kept) if sequence > after][:limit]
        return [Stored(sequence=n, data=msgspec.json.encode(self.kept[n])) for n in found]


@dataclass(slots=True)
class Near:
    chance: Random
    account: str
    agent: str
    cluster: Cluster = field(default_factory=lambda: Cluster(0))
    excused: set[str] = field(default_factory=set)
    """Facts that may be missing at the far end, because it was told that some are."""
    past: set[str] = field(default_factory=set)
    """Facts of clusters that are gone."""
    evicted: int = 0
    _since: float = 0.0
    _uplink: Uplink | None = None
    _pulse: Pulse | None = None
    _held: list[str] = field(default_factory=list)
    _roots_at: float = 0.0
    _roots_every: float = 60.0

    # --- the link -----------------------------------------------------------------------------

    def hello(self, now: float) -> Hello:
        self._since, self._uplink = now, None
        return Hello(
            account=self.account,
            agent=self.agent,
            instance="one",
            epoch=self.cluster.outbox.epoch,
            protocol=PROTOCOL,
            version="1",
            outbox=self.cluster.outbox.sequence,
            cluster_uid=f"cluster-{self.cluster.number}",
            running=tuple(self._held),
        )

    def hear(self, frame: DownFrame, now: float) -> list[UpFrame]:
        uplink = self._uplink
        if uplink is None:
            return self._greet(frame, now)
        if self._pulse is not None:
            self._pulse.hear(now, frame if isinstance(frame, Beat) else None)
        match frame:
            case Ack():
                uplink.ack(frame.through, now)
            case Missing():
                uplink.rewind(frame.after, now)
            case WantBuckets() | WantBodies():
                return self.cluster.outbox.answers(frame)
            case Offer() if frame.task.id not in self._held:
                self._held.append(frame.task.id)
            case _:
                pass
        return []

    def tick(self, now: float, wall: float) -> list[UpFrame]:
        """Raises LostError."""
        if self._uplink is None or self._pulse is None:
            if now - self._since > _WELCOME_WITHIN:
                raise LostError
            return []
        if self._pulse.is_lost(now):
            raise LostError
        beat = self._pulse.beat(now, wall)
        self._forget_through(self._uplink.acked)
        return [*((beat,) if beat else ()), *self._send(self._uplink, now), *self._compare(now)]

    @property
    def quiet(self) -> bool:
        """All is said and acknowledged, and nothing is being done."""
        said = self._uplink is not None and self._uplink.in_step and not self._held
        return said and not self.cluster.read(self._uplink.cursor if self._uplink else 0, 1)

    def _greet(self, frame: DownFrame, now: float) -> list[UpFrame]:
        """Session._greet and what follows it: the same past, the gap, where to go on."""
        if not isinstance(frame, Welcome):
            raise LostError
        cluster = self.cluster
        if frame.acked > cluster.outbox.sequence:
            raise AssertionError("more was acknowledged than was ever said")
        self._uplink = Uplink(acked=frame.acked, window=32)
        self._pulse = Pulse(every=frame.beat_seconds, heard=now)
        self._roots_at, self._roots_every = now - frame.roots_seconds, frame.roots_seconds
        if cluster.forgotten > frame.acked:
            gap = range(frame.acked + 1, cluster.forgotten + 1)
            self.excused |= {cluster.facts[n] for n in gap if n in cluster.facts}
            self._fact("outbox.gap.v1")
        self._forget_through(frame.acked)
        return []

    def _send(self, uplink: Uplink, now: float) -> list[UpFrame]:
        uplink.overdue(now)
        frames: list[UpFrame] = []
        while uplink.room and (stored := self.cluster.read(uplink.cursor, min(_READ, uplink.room))):
            frames.append(Items(items=uplink.take(stored, now)))
        return frames

    def _compare(self, now: float) -> list[UpFrame]:
        uplink = self._uplink
        if uplink is None or now - self._roots_at < self._roots_every or not uplink.in_step:
            return []
        if self.cluster.read(uplink.cursor, 1):
            return []
        self._roots_at = now
        return [msgspec.structs.replace(self.cluster.outbox.roots(), through=uplink.acked)]

    def _forget_through(self, through: int) -> None:
        self.cluster.forgotten = max(self.cluster.forgotten, through)
        self.cluster.kept = {n: it for n, it in self.cluster.kept.items() if n > through}

    # --- what happens in the house ------------------------------------------------------------

    def happen(self) -> None:
        """One object changes, comes or goes, or there is a fact of it."""
        name = f"app-{self.chance.randrange(_NAMES)}"
        subject, outbox = f"argocd/{name}", self.cluster.outbox
        match self.chance.randrange(5):
            case 0 if subject in outbox.objects["Application"]:
                item = outbox.gone("Application", subject)
            case 1:
                return self._fact("app.compared.v1")
            case _:
                health = self.chance.choice(("Healthy", "Degraded", "Progressing"))
                uid = f"{name}-{self.cluster.number}-{self.chance.randrange(2)}"
                item = outbox.state(application(name, health=health), uid=uid)
        if self.chance.random() > 0.1:  # else: the agent died before it was recorded
            self.cluster.keep(item)
        return None

    def work(self) -> None:
        """Each task goes one step on: begun, done, its end recorded, its end told."""
        for task_id in [it for it in self._held if self.chance.random() < 0.5]:
            results, effects = self.cluster.results, self.cluster.effects
            if task_id not in results:
                results[task_id] = None
            elif results[task_id] is None and not effects[task_id]:
                effects[task_id] += 1
            elif results[task_id] is None:
                results[task_id] = TaskResult(id=task_id, phase=TaskPhase.SUCCEEDED, code="ok")
            else:
                self._tell(task_id)

    def kill(self) -> None:
        """`_held` is memory; what was begun is not."""
        self._held, self._uplink = [], None

    def recreate(self) -> None:
        self.past |= set(self.cluster.facts.values())
        self.cluster = Cluster(self.cluster.number + 1)
        self.kill()

    def overflow(self) -> None:
        """As Outbox.ease: states first, then the oldest of the rest, and it is told."""
        for _ in range(_FULL):
            self.happen()
        kept = self.cluster.kept
        rest = sorted(n for n, it in kept.items() if it.kind is not ItemKind.STATE)
        gone = rest[: len(rest) // 3]
        self.cluster.kept = {n: kept[n] for n in rest[len(gone) :]}
        facts = {self.cluster.facts[n] for n in gone if n in self.cluster.facts}
        self.excused |= facts
        self.evicted += len(facts)
        self._fact("outbox.evicted.v1")

    def _tell(self, task_id: str) -> None:
        result = self.cluster.results[task_id]
        assert result is not None
        self.cluster.keep(self.cluster.outbox.task("result.v1", result))
        self._held.remove(task_id)

    def _fact(self, type_: str) -> None:
        self.cluster.keep(self.cluster.outbox.fact(type_, "argocd/app", {}))
