"""A random walk of faults over one link, in virtual time; then quiet, and what must hold then."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import msgspec

from agent.bridge.transport.link import LinkLostError
from bus.link import DownFrame, TaskPhase
from tests.service.link.agent_side import AgentSide
from tests.service.link.service_side import ClosedError, ServiceSide
from tests.service.link.toxic_lane import LaneFaults, ToxicLane

_FRAMES: msgspec.json.Decoder[DownFrame] = msgspec.json.Decoder(DownFrame)
_HOUR = 3600.0
_QUIET = 1200
"""Virtual seconds within which both sides have to agree."""
_TWO_COMPARES = 130.0
_EVENTS = {
    "kill agent": 5,
    "kill service": 5,
    "clock jump": 3,
    "full outbox": 3,
    "restored database": 2,
    "empty cluster": 1,
}


@dataclass(slots=True)
class VirtualTime:
    """`now` only goes on; the service's clock and the agent's may each jump."""

    now: float = 1_000_000.0
    service_side: float = 0.0
    agent_side: float = 0.0


@dataclass(slots=True, kw_only=True)
class FaultWalk:
    chance: Random
    time: VirtualTime
    agent_side: AgentSide
    service_side: ServiceSide
    faults: LaneFaults = field(default_factory=LaneFaults)
    bad: bool = True
    _up: ToxicLane = field(init=False)
    _down: ToxicLane = field(init=False)
    _open: bool = False
    _not_before: float = 0.0

    async def rough(self, until: int) -> None:
        """Faults, until so many have been done."""
        self.bad = True
        while self.faults.count < until:
            if self.chance.random() < 0.06:
                await self._event()
            if self.chance.random() < 0.03:
                await self.service_side.save()
            if self.chance.random() < 0.05:
                await self.service_side.submit()
            for _ in range(self.chance.randrange(4)):
                await self.agent_side.happen()
            await self._second()

    async def quiet(self) -> None:
        """The road is good; a person accepts a new epoch that does not explain itself."""
        self.bad = False
        await self._cut()
        for _ in range(_QUIET):
            await self._second()
            if await self._is_over():
                return
        raise AssertionError("no agreement in time")

    async def check(self) -> None:
        agent_side, service_side = self.agent_side, self.service_side
        assert (
            await service_side.differing(await agent_side.epoch(), (await agent_side.roots()).kinds)
            == ()
        )
        assert await service_side.shown() == set(agent_side.cluster.objects)
        recorded_facts = await service_side.recorded_facts()
        assert len(recorded_facts) == len(set(recorded_facts))
        assert agent_side.cluster.recorded - set(recorded_facts) <= agent_side.excused
        assert set(recorded_facts) <= agent_side.cluster.recorded | agent_side.lost_facts
        assert max(agent_side.cluster.effects.values(), default=0) <= 1
        assert set((await service_side.tasks()).values()) <= {TaskPhase.SUCCEEDED}

    # --- one second ---------------------------------------------------------------------------

    async def _second(self) -> None:
        self.time.now += 1
        await self.agent_side.work()
        if not self._open:
            if not self.bad or self.chance.random() < 0.5:
                await self._connect()
            return
        try:
            await self._up_the_road()
            await self._down_the_road()
        except (ClosedError, LinkLostError, msgspec.DecodeError):
            await self._cut()

    async def _up_the_road(self) -> None:
        now = self.time.now
        for up in await self.agent_side.tick(now, now + self.time.agent_side):
            self._up.send(up, now)
        for data in self._up.arrived(now):
            self._answer(await self.service_side.take(data))
        self._answer(await self.service_side.tick())

    async def _down_the_road(self) -> None:
        now = self.time.now
        for data in self._down.arrived(now):
            for up in await self.agent_side.receive(_FRAMES.decode(data), now):
                self._up.send(up, now)

    def _answer(self, frames: list[DownFrame]) -> None:
        for frame in frames:
            self._down.send(frame, self.time.now)

    async def _connect(self) -> None:
        self.service_side.connect()
        self._up = ToxicLane(chance=self.chance, faults=self.faults, bad=self.bad)
        self._down = ToxicLane(chance=self.chance, faults=self.faults, bad=self.bad)
        self._up.send(await self.agent_side.hello(self.time.now), self.time.now)
        self._open = True

    async def _cut(self) -> None:
        self._open = False
        await self.service_side.end()

    # --- faults that are not the road's -------------------------------------------------------

    async def _event(self) -> None:
        (name,) = self.chance.choices(tuple(_EVENTS), tuple(_EVENTS.values()))
        match name:
            case "kill agent":
                self.agent_side.kill()
                await self._cut()
            case "kill service":
                self.service_side.kill()
                self._open = False
            case "clock jump":
                self._jump()
            case "full outbox":
                await self.agent_side.overflow()
            case "restored database" if self.service_side.saved:
                await self.service_side.restore()
                self._open = False
            case "empty cluster":
                await self._empty()
            case _:
                return
        self.faults.note(name)

    def _jump(self) -> None:
        jump = self.chance.uniform(-_HOUR, _HOUR)
        if self.chance.random() < 0.5:
            self.time.service_side += jump
        else:
            self.time.agent_side += jump

    async def _empty(self) -> None:
        """Whatever was shown is shown still: nothing that is not there was deleted."""
        await self._cut()
        shown = await self.service_side.shown()
        await self.agent_side.recreate()
        self.bad, before = False, self.bad
        for _ in range(20):
            await self._second()
        self.bad = before
        assert await self.service_side.shown() == shown
        await self._cut()

    async def _is_over(self) -> bool:
        """Agreement as the service itself sees it, of an epoch that it believes."""
        if not await self.agent_side.is_quiet():
            return False
        if self.time.now < self._not_before:
            living = set(self.agent_side.cluster.objects)
            assert await self.service_side.shown() == living, (
                "what a person accepted is shown from then on"
            )
            return False
        epoch = await self.agent_side.epoch()
        if await self.service_side.differing(epoch, (await self.agent_side.roots()).kinds):
            return False
        if await self.service_side.state(epoch) != "active":
            return await self._accept(epoch)
        if not await self.service_side.in_step():
            return False
        return set((await self.service_side.tasks()).values()) <= {TaskPhase.SUCCEEDED}

    async def _accept(self, epoch: str) -> bool:
        """A person needs a while to look."""
        if self.chance.random() < 0.05:
            await self.service_side.accept(epoch)
            self._not_before = self.time.now + _TWO_COMPARES
        return False
