"""Deliveries already taken, by identity: a bounded memory, the oldest forgotten first.

It spares work when a host sends again; it is not what makes a repeat harmless (asks are). A
delivery is noted only after its asks are on the bus, so that a failed publish can be sent again.
"""

from __future__ import annotations

from collections import OrderedDict

DEFAULT_CAPACITY = 10_000


class Deliveries:
    def __init__(self, capacity: int = DEFAULT_CAPACITY) -> None:
        self._capacity = capacity
        self._taken: OrderedDict[str, None] = OrderedDict()

    def __contains__(self, identity: str) -> bool:
        return bool(identity) and identity in self._taken

    def note(self, identity: str) -> None:
        if not identity:
            return
        self._taken[identity] = None
        self._taken.move_to_end(identity)
        while len(self._taken) > self._capacity:
            self._taken.popitem(last=False)
