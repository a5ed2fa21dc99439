"""AgentLink: one open connection to the service that carries frames, and the time at its other end.

A link is a port over its transport. It may end at any moment, in the middle of a frame too, and
loses nothing: the service acknowledges each outbox entry, and each task has an id by which a
repetition is known.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from bus.link import DownFrame, UpFrame


class LinkLostError(Exception):
    """The connection ended or could not be opened: another attempt may succeed."""

    def __init__(self, cause: str, *, retry_after: float = 0.0) -> None:
        super().__init__(cause)
        self.retry_after = retry_after
        """Seconds that the service asked the agent to wait; 0 if it did not."""


class LinkRefusedError(LinkLostError):
    """The service refused this agent: a person has to act."""


class AgentLink(Protocol):
    async def send(self, frame: UpFrame) -> None:
        """Hand the frame to the transport; raises LinkLostError."""

    async def receive(self) -> DownFrame:
        """The next frame that this version understands; raises LinkLostError."""


class Dial(Protocol):
    def __call__(self, token: str, proof: str) -> AbstractAsyncContextManager[AgentLink]:
        """Open a link of the session with this token; raises LinkLostError.

        `proof` shows the service that the agent holds its key; empty for an older service.
        """


@dataclass(slots=True)
class ServiceClock:
    """Knows the time at the service, from the last time that the service sent.

    A timestamp of the service ("not begun after ...") counts by the service's clock. The clock
    of this machine may be an hour off, or be set while the link is up; so only the time that
    has passed since the last frame is measured here, with a monotonic clock.

    Seconds since 1970. Before the first frame the clock of this machine is used.
    """

    elapsed: Callable[[], float] = time.monotonic
    own: Callable[[], float] = time.time
    _service_time: float | None = None
    _received_at: float = 0.0

    def synchronise(self, service_time: float) -> None:
        self._service_time, self._received_at = service_time, self.elapsed()

    def now(self) -> float:
        return (
            self.own()
            if self._service_time is None
            else self._service_time + self.elapsed() - self._received_at
        )
