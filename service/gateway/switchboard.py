"""Which links this replica holds, and telling them what the rest of the service wishes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from service.gateway.links import Wish, read_wish

Hear = Callable[[Wish], None]


@dataclass(frozen=True, slots=True)
class Switchboard:
    _ears: defaultdict[str, list[Hear]] = field(default_factory=lambda: defaultdict(list))

    @contextmanager
    def plugged(self, agent_id: str, hear: Hear) -> Iterator[None]:
        self._ears[agent_id].append(hear)
        try:
            yield
        finally:
            self._ears[agent_id].remove(hear)
            if not self._ears[agent_id]:
                del self._ears[agent_id]

    @property
    def links(self) -> int:
        return sum(map(len, self._ears.values()))

    def hear(self, payload: str) -> None:
        """A signal. Signals that were lost are made up for: tasks are looked at again at once."""
        wanted = read_wish(payload)
        if wanted is not None:
            self._tell(wanted)
            return
        for agent_id in tuple(self._ears):
            self._tell(Wish(agent_id=agent_id, offer=True))

    def leave(self) -> None:
        """This replica ends: every agent is sent on, instead of being waited for."""
        for agent_id in tuple(self._ears):
            self._tell(Wish(agent_id=agent_id, leaving=True))

    def _tell(self, wanted: Wish) -> None:
        for hear in tuple(self._ears.get(wanted.agent_id, ())):
            hear(wanted)
