"""The call of an endpoint: the caller, the request, its transaction, and the parts it may use.

Everything that a handler does stands or falls with the request's transaction. Locks are taken in
one order: the audit's by `turn`, then tasks, and the change feed's last.

A handler names the part that it uses by its key: `call.use(TASKS)`. Parts that only one area uses
have their keys in that area. `service.wiring` sets all of them; a missing one is found by a test,
not by a request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from aiohttp import web
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from bus.identity import new_id
from service.access.decision import Caller, ResourceScope, decide
from service.access.permissions import Permission
from service.audit import audit_book
from service.audit.audit_record import AuditEntry
from service.gateway.task_store import TaskStore
from service.http.problem import DeniedError
from service.keys.key_file import KeyFile
from service.store.changes import note_all

Clock = Callable[[], datetime]
"""The time now, in UTC."""
ENGINE = web.AppKey("engine", AsyncEngine)
"""For transactions of their own, apart from the request's."""
CLOCK: web.AppKey[Clock] = web.AppKey("clock")
KEYS = web.AppKey("keys", KeyFile)
"""Keys outside the database, which sign the audit and encrypt columns."""
TASKS = web.AppKey("tasks", TaskStore)
PUBLIC_URL = web.AppKey("public_url", str)
"""The service's address as browsers and agents reach it; empty: as the request names it."""
P = TypeVar("P")


class AuditNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller did, as a handler says it; the call knows who and when."""

    action: str
    """`noun.verb`."""
    resource: str
    project: str = ""
    outcome: str = "done"
    detail: dict[str, Any] = {}
    """Redacted: see service/audit/audit_record.py."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCall:
    connection: AsyncConnection
    caller: Caller
    request: web.Request
    now: datetime

    @property
    def account(self) -> str:
        return self.caller.account

    @property
    def id(self) -> str:
        """The `{id}` of the request's path."""
        return self.request.match_info["id"]

    def use(self, key: web.AppKey[P]) -> P:
        """Take a part of the service that the handler uses: see service/http/call.py."""
        return self.request.app[key]

    def may(self, permission: Permission, scope: ResourceScope) -> bool:
        """Decide whether the caller holds the permission in the scope."""
        return decide(self.caller.bindings, permission, scope).allowed

    def require(self, permission: Permission, scope: ResourceScope, resource: str) -> None:
        """Raise DeniedError unless the caller holds the permission in the scope."""
        if not self.may(permission, scope):
            raise DeniedError(permission, resource)

    async def release(self) -> None:
        """Commit, and give the connection back before a long wait."""
        await self.connection.commit()
        await self.connection.close()

    async def turn(self) -> None:
        """Take the audit's lock before a task is submitted or a change noted."""
        await audit_book.turn(self.connection, self.account)

    async def audit(
        self,
        action: str,
        resource: str,
        *,
        project: str = "",
        outcome: str = "done",
        detail: Mapping[str, Any] | None = None,
    ) -> None:
        """Record what the caller did; `detail` is redacted: see service/audit/audit_record.py."""
        note = AuditNote(
            action=action,
            resource=resource,
            project=project,
            outcome=outcome,
            detail=dict(detail or {}),
        )
        await self.audit_all((note,))

    async def audit_all(self, notes: Sequence[AuditNote]) -> None:
        """Record several things that the caller did, by the statements of one."""
        entries = [self._entry(note) for note in notes]
        made = await audit_book.record_all(self.connection, entries)
        changes = [audit_book.recorded(record.entry) for record in made]
        await note_all(self.connection, self.account, changes)

    def _entry(self, note: AuditNote) -> AuditEntry:
        return AuditEntry(
            account=self.account,
            id=new_id(),
            time=self.now,
            actor=self.caller.name,
            address=self.caller.address[:64],
            action=note.action,
            resource=note.resource[:700],
            project=note.project,
            outcome=note.outcome,
            detail=note.detail,
        )
