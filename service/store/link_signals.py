"""Signals to the link of an agent, and the registry of the links that receive them here.

A signal reaches every replica when its transaction commits; the replica that holds the link acts on
it. A lost signal does no harm: fences are checked in each transaction, tasks are read by a timer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.link import TerminalInput
from service.store import signals

CHANNEL = "links"


class LinkSignal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    agent_id: str
    offer: bool = False
    """Tasks are waiting."""
    cancel: str = ""
    """A task to be cancelled."""
    credit: int = 0
    """Chunks of the stream of task `stream` that may be sent."""
    stream: str = ""
    typed: TerminalInput | None = None
    """Input of a task that is a terminal."""
    fence: int = 0
    """A newer connection: older ones end."""
    revoked: bool = False
    extend: float = 0.0
    """A renewed session: the link may live until then (seconds since 1970)."""
    believed: bool = False
    """The quarantined epoch is active now: a person accepted it."""
    deletions: bool = False
    """A person believes the many deletions that are held."""
    leaving: bool = False
    """This replica ends; never told to others."""
    resync: bool = False
    """The projection was dropped: ask for everything."""


async def signal_link(connection: AsyncConnection, signal: LinkSignal) -> None:
    await signals.send(connection, CHANNEL, msgspec.json.encode(signal).decode())


def read_link_signal(payload: str) -> LinkSignal | None:
    """Read a signal; None where the payload is not ours, or says that signals were lost."""
    try:
        return msgspec.json.decode(payload, type=LinkSignal)
    except msgspec.DecodeError:
        return None


LinkSignalReceiver = Callable[[LinkSignal], None]


@dataclass(frozen=True, slots=True)
class LinkRegistry:
    _receivers: defaultdict[str, list[LinkSignalReceiver]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @contextmanager
    def registered(self, agent_id: str, receive: LinkSignalReceiver) -> Iterator[None]:
        self._receivers[agent_id].append(receive)
        try:
            yield
        finally:
            self._receivers[agent_id].remove(receive)
            if not self._receivers[agent_id]:
                del self._receivers[agent_id]

    @property
    def links(self) -> int:
        return sum(map(len, self._receivers.values()))

    def receive(self, payload: str) -> None:
        """A signal. Signals that were lost are made up for: tasks are looked at again at once."""
        signal = read_link_signal(payload)
        if signal is not None:
            self._deliver(signal)
            return
        for agent_id in tuple(self._receivers):
            self._deliver(LinkSignal(agent_id=agent_id, offer=True))

    def leave(self) -> None:
        """This replica ends: every agent is sent on, instead of being waited for."""
        for agent_id in tuple(self._receivers):
            self._deliver(LinkSignal(agent_id=agent_id, leaving=True))

    def _deliver(self, signal: LinkSignal) -> None:
        for receive in tuple(self._receivers.get(signal.agent_id, ())):
            receive(signal)
