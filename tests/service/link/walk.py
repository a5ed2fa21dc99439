"""A random walk of faults over one link, in virtual time; then quiet, and what must hold then."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

import msgspec

from agent.bridge.link import LinkLostError
from bus.link import DownFrame, TaskPhase
from tests.service.link.far import ClosedError, Far
from tests.service.link.near import Near
from tests.service.link.road import Faults, Lane

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
class Time:
    """`now` only goes on; the service's clock and the agent's may each jump."""

    now: float = 1_000_000.0
    far: float = 0.0
    near: float = 0.0


@dataclass(slots=True, kw_only=True)
class Walk:
    chance: Random
    time: Time
    near: Near
    far: Far
    faults: Faults = field(default_factory=Faults)
    bad: bool = True
    _up: Lane = field(init=False)
    _down: Lane = field(init=False)
    _open: bool = False
    _not_before: float = 0.0

    async def rough(self, until: int) -> None:
        """Faults, until so many have been done."""
        self.bad = True
        while self.faults.count < until:
            if self.chance.random() < 0.06:
                await self._event()
            if self.chance.random() < 0.03:
                await self.far.save()
            if self.chance.random() < 0.05:
                await self.far.submit()
            for _ in range(self.chance.randrange(4)):
                await self.near.happen()
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
        near, far = self.near, self.far
        assert await far.differing(await near.epoch(), (await near.roots()).kinds) == ()
        assert await far.shown() == set(near.cluster.objects)
        told = await far.told()
        assert len(told) == len(set(told))
        assert near.cluster.recorded - set(told) <= near.excused
        assert set(told) <= near.cluster.recorded | near.past
        assert max(near.cluster.effects.values(), default=0) <= 1
        assert set((await far.tasks()).values()) <= {TaskPhase.SUCCEEDED}

    # --- one second ---------------------------------------------------------------------------

    async def _second(self) -> None:
        self.time.now += 1
        await self.near.work()
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
        for up in await self.near.tick(now, now + self.time.near):
            self._up.send(up, now)
        for data in self._up.arrived(now):
            self._answer(await self.far.take(data))
        self._answer(await self.far.tick())

    async def _down_the_road(self) -> None:
        now = self.time.now
        for data in self._down.arrived(now):
            for up in await self.near.hear(_FRAMES.decode(data), now):
                self._up.send(up, now)

    def _answer(self, frames: list[DownFrame]) -> None:
        for frame in frames:
            self._down.send(frame, self.time.now)

    async def _connect(self) -> None:
        self.far.connect()
        self._up = Lane(chance=self.chance, faults=self.faults, bad=self.bad)
        self._down = Lane(chance=self.chance, faults=self.faults, bad=self.bad)
        self._up.send(await self.near.hello(self.time.now), self.time.now)
        self._open = True

    async def _cut(self) -> None:
        self._open = False
        await self.far.end()

    # --- faults that are not the road's -------------------------------------------------------

    async def _event(self) -> None:
        (name,) = self.chance.choices(tuple(_EVENTS), tuple(_EVENTS.values()))
        match name:
            case "kill agent":
                self.near.kill()
                await self._cut()
            case "kill service":
                self.far.kill()
                self._open = False
            case "clock jump":
                self._jump()
            case "full outbox":
                await self.near.overflow()
            case "restored database" if self.far.saved:
                await self.far.restore()
                self._open = False
            case "empty cluster":
                await self._empty()
            case _:
                return
        self.faults.note(name)

    def _jump(self) -> None:
        jump = self.chance.uniform(-_HOUR, _HOUR)
        if self.chance.random() < 0.5:
            self.time.far += jump
        else:
            self.time.near += jump

    async def _empty(self) -> None:
        """Whatever was shown is shown still: nothing that is not there was deleted."""
        await self._cut()
        shown = await self.far.shown()
        await self.near.recreate()
        self.bad, before = False, self.bad
        for _ in range(20):
            await self._second()
        self.bad = before
        assert await self.far.shown() == shown
        await self._cut()

    async def _is_over(self) -> bool:
        """Agreement as the service itself sees it, of an epoch that it believes."""
        if not await self.near.is_quiet():
            return False
        if self.time.now < self._not_before:
            living = set(self.near.cluster.objects)
            assert await self.far.shown() == living, "what a person accepted is shown from then on"
            return False
        epoch = await self.near.epoch()
        if await self.far.differing(epoch, (await self.near.roots()).kinds):
            return False
        if await self.far.state(epoch) != "active":
            return await self._accept(epoch)
        if not await self.far.in_step():
            return False
        return set((await self.far.tasks()).values()) <= {TaskPhase.SUCCEEDED}

    async def _accept(self, epoch: str) -> bool:
        """A person needs a while to look."""
        if self.chance.random() < 0.05:
            await self.far.accept(epoch)
            self._not_before = self.time.now + _TWO_COMPARES
        return False
