"""Link: one open connection that carries frames, whatever carries it.

Only the newest connection counts, and none is trusted: what matters is acknowledged by the far
end, what comes down is known by its id. So a link may end at any moment, in mid-frame too.
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import Protocol

from bus.link import DownFrame, UpFrame


class LinkLostError(Exception):
    """The connection is over, or was never made: another try may succeed."""

    def __init__(self, cause: str, *, retry_after: float = 0.0) -> None:
        super().__init__(cause)
        self.retry_after = retry_after
        """Seconds the far end asked us to wait; 0 where it said nothing."""


class LinkRefusedError(LinkLostError):
    """The far end does not want this agent: a person has to do something."""


class Link(Protocol):
    async def send(self, frame: UpFrame) -> None:
        """Handed to the carrier; raises LinkLostError."""

    async def receive(self) -> DownFrame:
        """The next frame that this version understands; raises LinkLostError."""


class Dial(Protocol):
    def __call__(self, token: str, proof: str) -> AbstractAsyncContextManager[Link]:
        """An open link of the session with this token; raises LinkLostError.

        `proof`: that we hold the key, for this one connection; empty where nobody asks for it.
        """
