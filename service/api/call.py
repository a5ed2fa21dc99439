"""One request, as its handler sees it: who asks, the transaction it is part of, the tools.

What a handler does stands or falls with the request's transaction. The audit's lock comes before
the change feed's, always in this order: `turn`, then tasks and changes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.ids import new_id
from service.access.decide import decide
from service.access.permissions import Permission
from service.access.values import Place
from service.api.problem import DeniedError
from service.api.tools import Tools
from service.audit import book
from service.audit.record import Entry
from service.auth.caller import Caller
from service.store.changes import note


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    tools: Tools
    connection: AsyncConnection
    caller: Caller
    request: web.Request
    now: datetime

    @property
    def account(self) -> str:
        return self.caller.account

    @property
    def id(self) -> str:
        return self.request.match_info["id"]

    def may(self, permission: Permission, place: Place) -> bool:
        return decide(self.caller.bindings, permission, place).allowed

    def require(self, permission: Permission, place: Place, resource: str) -> None:
        if not self.may(permission, place):
            raise DeniedError(permission, resource)

    async def release(self) -> None:
        """Commits, and gives the connection back before a long wait."""
        await self.connection.commit()
        await self.connection.close()

    async def turn(self) -> None:
        """Takes the audit's lock before a task is submitted or a change noted."""
        await book.turn(self.connection, self.account)

    async def audit(
        self,
        action: str,
        resource: str,
        *,
        project: str = "",
        outcome: str = "done",
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """`detail` is redacted already: see service/audit/redact.py."""
        entry = Entry(
            account=self.account,
            id=new_id(),
            time=self.now,
            actor=self.caller.name,
            address=self.caller.address[:64],
            action=action,
            resource=resource[:700],
            project=project,
            outcome=outcome,
            detail=dict(detail or {}),
        )
        record = await book.record(self.connection, entry)
        if record is not None:
            body = {"action": action, "resource": entry.resource, "actor": entry.actor}
            await note(self.connection, self.account, "audit.recorded", entry.id, project, "", body)
