"""What the rest of the service wants of an agent's link, wherever it is held.

A wish is told to every replica when its transaction commits; the one that holds the link acts on
it. A lost wish does no harm: fences are checked in each transaction, tasks are looked at by timer.
"""

from __future__ import annotations

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from service.store import signals

CHANNEL = "links"


class Wish(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    agent_id: str
    offer: bool = False
    """Tasks are waiting."""
    cancel: str = ""
    """A task to be cancelled."""
    credit: int = 0
    """Chunks of the stream of task `stream` that may be sent."""
    stream: str = ""
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


async def wish(connection: AsyncConnection, wanted: Wish) -> None:
    await signals.send(connection, CHANNEL, msgspec.json.encode(wanted).decode())


def read_wish(payload: str) -> Wish | None:
    """None where the payload is not ours, or only says that signals were lost for a while."""
    try:
        return msgspec.json.decode(payload, type=Wish)
    except msgspec.DecodeError:
        return None
