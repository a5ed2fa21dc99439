"""Uplink: where we stand in the outbox, what may be sent and what was not acknowledged. Pure.

Entries are read in order; each item names the sequence that stood before it, so that the far end
sees a gap even where merged states left holes. Whatever is lost on the way is found by a gap
(`rewind`) or by an acknowledgement that does not come (`overdue`), and sent again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from bus.jetstream.outbox import Stored
from bus.link import Item

_PATIENCE = 20.0
"""Seconds without an acknowledgement after which everything is sent again."""
_SAME_GAP = 2.0
"""Seconds in which a second complaint about one gap is about the frames already under way."""


@dataclass(slots=True, kw_only=True)
class Uplink:
    acked: int
    window: int
    position: int = -1
    """The last sequence that was sent."""
    cursor: int = -1
    """The last sequence that was read."""
    _unacked: deque[int] = field(default_factory=deque)
    _heard: float = 0.0
    _gap: tuple[int, float] = (-1, 0.0)

    def __post_init__(self) -> None:
        self.position = self.cursor = self.acked

    @property
    def room(self) -> int:
        return max(0, self.window - len(self._unacked))

    @property
    def in_step(self) -> bool:
        """All that was sent is acknowledged."""
        return not self._unacked

    def take(self, stored: Sequence[Stored], now: float) -> tuple[Item, ...]:
        """The items to send of what was read after `cursor`; unreadable ones are left out."""
        if not self._unacked:
            self._heard = now
        items: list[Item] = []
        for one in stored:
            self.cursor = one.sequence
            item = numbered(one, before=self.position)
            if item is None:
                continue
            self.position = one.sequence
            self._unacked.append(one.sequence)
            items.append(item)
        return tuple(items)

    def ack(self, through: int, now: float) -> None:
        """Of what was sent; an acknowledgement of something else is nonsense and ignored."""
        if not self.acked < through <= self.position:
            return
        self.acked, self._heard = through, now
        while self._unacked and self._unacked[0] <= through:
            self._unacked.popleft()

    def rewind(self, after: int, now: float) -> bool:
        """Send again what stands after; False where that is being done already."""
        if after > self.position or (after == self._gap[0] and now - self._gap[1] < _SAME_GAP):
            return False
        self._gap = (after, now)
        self._back_to(after, now)
        return True

    def overdue(self, now: float) -> bool:
        """Nothing was acknowledged for long: everything unacknowledged is sent again."""
        if not self._unacked or now - self._heard < _PATIENCE:
            return False
        self._back_to(self.acked, now)
        return True

    def _back_to(self, after: int, now: float) -> None:
        self.position = self.cursor = after
        self._heard = now
        self.acked = min(self.acked, after)
        self._unacked = deque(sequence for sequence in self._unacked if sequence <= after)


def numbered(stored: Stored, *, before: int) -> Item | None:
    try:
        item = msgspec.json.decode(stored.data, type=Item)
    except msgspec.DecodeError:
        return None
    return msgspec.structs.replace(item, sequence=stored.sequence, before=before)
