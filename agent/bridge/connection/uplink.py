"""Uplink: the position of one link in the outbox, its window, and what is unacknowledged. Pure.

Entries are read in order, and each item names the sequence sent before it: merged states leave
holes in the sequences, and still the service can tell a hole from a loss. A loss is noticed by the
service (`rewind`) or by a missing acknowledgement (`overdue`); then the entries are sent again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from bus.jetstream.outbox import StoredEntry
from bus.link import LinkItem

_PATIENCE = 20.0
"""Seconds without an acknowledgement after which everything is sent again."""
_SAME_GAP = 2.0
"""Seconds in which a repeated report of one gap concerns frames that are already being resent."""


@dataclass(slots=True, kw_only=True)
class Uplink:
    acked: int
    window: int
    position: int = -1
    """The last sequence that was sent."""
    cursor: int = -1
    """The last sequence that was read."""
    _unacked: deque[int] = field(default_factory=deque)
    _acknowledged_at: float = 0.0
    _gap: tuple[int, float] = (-1, 0.0)

    def __post_init__(self) -> None:
        self.position = self.cursor = self.acked

    @property
    def free(self) -> int:
        return max(0, self.window - len(self._unacked))

    @property
    def is_acknowledged(self) -> bool:
        """Whether every sent item is acknowledged."""
        return not self._unacked

    def take(self, stored: Sequence[StoredEntry], now: float) -> tuple[LinkItem, ...]:
        """Turn entries read after `cursor` into items to send; unreadable entries are left out."""
        if not self._unacked:
            self._acknowledged_at = now
        items: list[LinkItem] = []
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
        """Note an acknowledgement; one of a sequence that was never sent is ignored."""
        if not self.acked < through <= self.position:
            return
        self.acked, self._acknowledged_at = through, now
        while self._unacked and self._unacked[0] <= through:
            self._unacked.popleft()

    def rewind(self, after: int, now: float) -> bool:
        """Send everything after `after` again; False if that is already being done."""
        if not 0 <= after <= self.position or (
            after == self._gap[0] and now - self._gap[1] < _SAME_GAP
        ):
            return False
        self._gap = (after, now)
        self._back_to(after, now)
        return True

    def overdue(self, now: float) -> bool:
        """If no acknowledgement came for long, go back to the last one; True if so."""
        if not self._unacked or now - self._acknowledged_at < _PATIENCE:
            return False
        self._back_to(self.acked, now)
        return True

    def _back_to(self, after: int, now: float) -> None:
        self.position = self.cursor = after
        self._acknowledged_at = now
        self.acked = min(self.acked, after)
        self._unacked = deque(sequence for sequence in self._unacked if sequence <= after)


def numbered(stored: StoredEntry, *, before: int) -> LinkItem | None:
    try:
        item = msgspec.json.decode(stored.data, type=LinkItem)
    except msgspec.DecodeError:
        return None
    return msgspec.structs.replace(item, sequence=stored.sequence, before=before)
