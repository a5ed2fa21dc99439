"""Past: what one epoch of the outbox has said already, here and at the service.

What was acknowledged is forgotten here. A service that was restored from an old copy knows less
than it acknowledged once: what is missing then is told as a gap. A service that knows more than we
ever said means that it is our outbox that is old: it gets a new epoch.
"""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from agent.bridge.forgotten import Forgotten
from agent.bridge.link import LinkLostError
from bus.jetstream.outbox import Outbox

log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class Past:
    """All methods raise CarrierError."""

    epoch: str
    outbox: Outbox
    forgotten: Forgotten
    _through: int = 0

    async def check(self, acked: int, newest: int) -> None:
        """`newest`: of what our Hello told. Raises LinkLostError: connect anew."""
        if acked > newest:
            await self.outbox.renew()
            raise LinkLostError("the service knows more of this outbox than it holds: new epoch")

    async def gap(self, acked: int) -> dict[str, int]:
        """What the service does not know and is not here any more; empty: nothing."""
        through = await self.forgotten.through(self.epoch)
        if through <= acked:
            return {}
        log.warning("the service forgot what it acknowledged", after=acked, through=through)
        return {"after": acked, "through": through}

    async def forget(self, through: int) -> None:
        """Noted before it is done: rather a gap told that is none than one that is not told."""
        if through > self._through:
            await self.forgotten.note(self.epoch, through)
            await self.outbox.forget(through)
            self._through = through
