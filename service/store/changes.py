"""The change feed: every change that people see is inserted in the transaction that makes it.

Ids become visible in their order, because writers of one account take turns from `note` to commit:
a reader who has seen 7 never misses a late 6. So note **last**, and take no other lock after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from sqlalchemy import func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.store.tables import changes

CHANNEL = "changes"
_LOCK = 0x67740001


class FeedChange(msgspec.Struct, frozen=True, kw_only=True):
    """`type` is one of `application.changed`, `agent.changed`, `fact`, `task.changed`, ..."""

    type: str
    subject: str
    project: str = ""
    agent_id: str = ""
    body: dict[str, Any] = {}


async def note(  # noqa: PLR0913, PLR0917  the columns of one change
    connection: AsyncConnection,
    account_id: str,
    type: str,  # noqa: A002  the word of the wire
    subject: str,
    project: str,
    agent_id: str = "",
    body: dict[str, Any] | None = None,
) -> None:
    """Note one change; see `note_all`."""
    change = FeedChange(
        type=type, subject=subject, project=project, agent_id=agent_id, body=body or {}
    )
    await note_all(connection, account_id, (change,))


async def note_all(
    connection: AsyncConnection, account_id: str, found: Sequence[FeedChange]
) -> None:
    """Insert in order and announce once: the payload of the notification is the account's id."""
    if not found:
        return
    turn = func.pg_advisory_xact_lock(_LOCK, func.hashtext(account_id))
    await connection.execute(select(turn))
    rows = [{"account_id": account_id, **msgspec.structs.asdict(change)} for change in found]
    await connection.execute(insert(changes), rows)
    await connection.execute(select(func.pg_notify(CHANNEL, account_id)))
