"""What else follows from a batch: rooms that keep tables of their own hook in here.

A follower runs inside the transaction that stores the batch and moves the cursor, so its tables
cannot say something else than the rest. It returns what people are to be told.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from sqlalchemy.ext.asyncio import AsyncConnection

from service.projection.values import Batch, Scope
from service.store.changes import Change


class Follower(Protocol):
    """Called for believed epochs only; bulk statements, because a batch has hundreds of items."""

    async def __call__(
        self, connection: AsyncConnection, scope: Scope, batch: Batch, now: datetime
    ) -> Sequence[Change]: ...
