"""Open shells: each `exec.begun` of the audit gets exactly one `exec.ended`.

The row of a shell is written with its begin, and removed with the record of its end: who removes it
records the end. The replica that carries a shell renews a lease on the row. Where it was killed or
stopped, another replica finds the lease ended: it has the agent end the shell, again and again
until the task has ended, and records the end then. A replica that comes back finds no row, and ends
its side without a second record.

Leases are compared by the database's clock: the clocks of two replicas may be apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
import structlog
from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from bus.identity import new_id
from bus.link import TaskPhase
from service.audit import audit_book
from service.audit.audit_record import AuditEntry, AuditSource
from service.gateway.task_store import TaskEnd, TaskStore
from service.store.changes import note_all
from service.store.rows import find_row
from service.store.tables import open_shells

log = structlog.get_logger()

RENEW_SECONDS = 10.0
_LEASE = timedelta(seconds=40)
_PATIENCE = timedelta(minutes=10)
"""After the end of the lease: of an agent that answers and does not end the shell."""
_SWEEP_SECONDS = 5.0
_AT_ONCE = 100
_LOST = "the replica of the service that carried it was lost"


class OpenShell(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a shell in which pod, and how many characters have gone each way."""

    task_id: str
    account_id: str
    agent_id: str
    actor: str
    address: str
    subject: str
    """The application, `namespace/name`."""
    project: str
    pod: dict[str, str]
    """Namespace, pod and container."""
    output: int = 0
    input: int = 0
    begun_at: datetime


class AbandonedShell(OpenShell, frozen=True, kw_only=True):
    """A shell whose lease has ended."""

    is_hopeless: bool
    """Whether its agent has been asked for so long that no answer is expected."""


class ShellResult(msgspec.Struct, frozen=True, kw_only=True):
    """How a shell ended, as its reader's side knows, or as was found after it."""

    task_id: str
    reason: str = ""
    exit_code: int | None = None
    output: int = 0
    input: int = 0
    source: AuditSource = AuditSource.API


async def begin_shell(connection: AsyncConnection, shell: OpenShell) -> None:
    """Record the begin, in the transaction that submits the task."""
    row = {**msgspec.structs.asdict(shell), "kept_until": func.now() + _LEASE}
    await connection.execute(insert(open_shells).values(row))
    await _record(connection, _entry(shell, "exec.begun", shell.begun_at))


async def renew_shell(connection: AsyncConnection, task_id: str, output: int, input_: int) -> bool:
    """Renew the lease; false where another replica has recorded the end."""
    values = {"kept_until": func.now() + _LEASE, "output": output, "input": input_}
    mine = update(open_shells).where(open_shells.c.task_id == task_id).values(values)
    return (await connection.execute(mine)).rowcount > 0


async def end_shell(connection: AsyncConnection, result: ShellResult, now: datetime) -> bool:
    """Record the end, once; false where it was recorded before. Take the audit's turn first."""
    mine = open_shells.c.task_id == result.task_id
    gone = delete(open_shells).where(mine).returning(open_shells)
    shell = await find_row(connection, gone, OpenShell)
    if shell is None:
        return False
    entry = _entry(
        shell,
        "exec.ended",
        now,
        seconds=max(round((now - shell.begun_at).total_seconds()), 0),
        output=max(result.output, shell.output),
        input=max(result.input, shell.input),
        exitCode=result.exit_code,
        reason=result.reason[:500],
    )
    await _record(connection, msgspec.structs.replace(entry, source=result.source))
    return True


async def sweeping_shells(tasks: TaskStore, clock: Callable[[], datetime]) -> None:
    """Sweep until cancelled; replicas may do it at the same time."""
    while True:
        try:
            await sweep_shells(tasks, clock)
        except (SQLAlchemyError, OSError, TimeoutError) as e:
            log.warning("sweep of shells failed, tried again soon", error=type(e).__name__)
        await asyncio.sleep(_SWEEP_SECONDS)


async def sweep_shells(tasks: TaskStore, clock: Callable[[], datetime]) -> None:
    """End the shells whose lease has ended, and record those that have ended."""
    for task_id in await _abandoned(tasks):
        await _end_abandoned(tasks, task_id, clock)


async def _abandoned(tasks: TaskStore) -> list[str]:
    late = open_shells.c.kept_until < func.now()
    query = select(open_shells.c.task_id).where(late).order_by(open_shells.c.kept_until)
    async with tasks.engine.connect() as connection:
        return list((await connection.execute(query.limit(_AT_ONCE))).scalars())


async def _end_abandoned(tasks: TaskStore, task_id: str, clock: Callable[[], datetime]) -> None:
    """Ask the agent to end the shell; record the end where it has."""
    kept_until = open_shells.c.kept_until
    hopeless = (kept_until < func.now() - _PATIENCE).label("is_hopeless")
    late = (open_shells.c.task_id == task_id) & (kept_until < func.now())
    query = select(open_shells, hopeless).where(late)
    async with tasks.engine.begin() as connection:
        shell = await find_row(connection, query, AbandonedShell)
        if shell is None:
            return
        await audit_book.turn(connection, shell.account_id)
        phase = await tasks.cancel(connection, task_id)
    if phase is not None and not (phase.final or shell.is_hopeless):
        return
    result = _result(task_id, await tasks.look(task_id))
    async with tasks.engine.begin() as connection:
        await audit_book.turn(connection, shell.account_id)
        if await end_shell(connection, result, clock()):
            log.info("shell of a lost replica ended", task=task_id, app=shell.subject)


def _result(task_id: str, ended: TaskEnd | None) -> ShellResult:
    found = ShellResult(task_id=task_id, reason=_LOST, source=AuditSource.SERVICE)
    if ended is None:
        return msgspec.structs.replace(found, reason=f"{_LOST}, and its agent was removed")
    body = ended.result if isinstance(ended.result, dict) else {}
    code = body.get("exitCode")
    if ended.phase is TaskPhase.SUCCEEDED and isinstance(code, int):
        return msgspec.structs.replace(found, exit_code=code)
    how = (ended.message or ended.phase) if ended.phase.final else "the agent does not end it"
    return msgspec.structs.replace(found, reason=f"{_LOST}: {how}")


def _entry(shell: OpenShell, action: str, now: datetime, **more: str | int | None) -> AuditEntry:
    return AuditEntry(
        account=shell.account_id,
        id=new_id(),
        time=now,
        actor=shell.actor,
        address=shell.address,
        action=action,
        resource=shell.subject,
        project=shell.project,
        outcome="done",
        detail={**shell.pod, "task": shell.task_id, "agent": shell.agent_id, **more},
    )


async def _record(connection: AsyncConnection, entry: AuditEntry) -> None:
    made = await audit_book.record_all(connection, (entry,))
    await note_all(connection, entry.account, [audit_book.recorded(it.entry) for it in made])
