"""The road between the two sides: encoded frames under way, and what a bad one does to them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random

import msgspec

from bus.link import DownFrame, HashBucket, UpFrame

_OFTEN, _SELDOM = 0.15, 0.01
_LONGEST_DELAY = 30.0


@dataclass(slots=True)
class LaneFaults:
    """What was done to the link, by name."""

    done: Counter[str] = field(default_factory=Counter)

    def note(self, name: str) -> None:
        self.done[name] += 1

    @property
    def count(self) -> int:
        return sum(self.done.values())


@dataclass(slots=True, kw_only=True)
class ToxicLane:
    """One direction of one connection. What is cut ends the connection when it arrives."""

    chance: Random
    faults: LaneFaults
    bad: bool = True
    silent: bool = False
    """Half open: who sends sees nothing wrong, and nothing arrives."""
    _under_way: list[tuple[float, bytes]] = field(default_factory=list)

    def send(self, frame: UpFrame | DownFrame, now: float) -> None:
        data = msgspec.json.encode(frame)
        likely = _SELDOM if isinstance(frame, HashBucket) else _OFTEN
        if self.silent:
            return
        if self.bad and self.chance.random() < likely:
            self._disturb(data, now)
        else:
            self._under_way.append((now, data))

    def arrived(self, now: float) -> list[bytes]:
        found = [data for due, data in self._under_way if due <= now]
        self._under_way = [one for one in self._under_way if one[0] > now]
        return found

    def _disturb(self, data: bytes, now: float) -> None:
        weights = {"drop": 6, "duplicate": 6, "delay": 4, "reorder": 4, "cut": 2, "half-open": 1}
        (name,) = self.chance.choices(tuple(weights), tuple(weights.values()))
        self.faults.note(name)
        match name:
            case "duplicate":
                self._under_way += [(now, data), (now, data)]
            case "delay":
                due = now + self.chance.uniform(1, _LONGEST_DELAY)
                self._under_way.append((due, data))
            case "reorder":
                self._under_way.insert(self.chance.randint(0, len(self._under_way)), (now, data))
            case "cut":
                self._under_way.append((now, data[: self.chance.randrange(len(data))]))
            case "half-open":
                self.silent = True
