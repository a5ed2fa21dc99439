"""Statements: what the database of a test was asked."""

from __future__ import annotations

from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine


class Statements:
    """How many statements the engine has executed since, of those that name `table`."""

    def __init__(self, engine: AsyncEngine, table: str = "") -> None:
        self.count = 0
        self._table = table
        event.listen(engine.sync_engine, "before_cursor_execute", self._seen)

    def _seen(self, _connection: object, _cursor: object, statement: str, *_: object) -> None:
        self.count += self._table in statement
