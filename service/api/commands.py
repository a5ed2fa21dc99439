"""What one asks of an application: sync, refresh, terminate, rollback, one or many at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any

import msgspec
from sqlalchemy import RowMapping

from bus.link import TaskClass, TaskKind
from service.access.permissions import Permission
from service.api import applications as apps
from service.api.application_filters import ORDERS, ApplicationsQuery, Sort, filters_of
from service.api.call import Call
from service.api.endpoint import Endpoint, Given, Nothing
from service.api.fields import Id, Text
from service.api.orders import Accepted, AcceptedAll, Order, Task, submit
from service.api.pages import rows_of
from service.api.problem import invalid
from service.api.sight import visible_applications

SYNC = Permission.APPLICATION_SYNC
OVERRIDE = Permission.APPLICATION_OVERRIDE
_MOST = 500
_WEAKENING = frozenset({"Replace=true", "Force=true", "Validate=false"})

Arguments = Callable[[RowMapping], Awaitable[dict[str, Any]]]
"""What an order says about one application."""


class ObjectRef(Given, frozen=True, kw_only=True):
    """One object of the application."""

    group: Text = ""
    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


Objects = Annotated[tuple[ObjectRef, ...], msgspec.Meta(max_length=1000)]
Options = Annotated[tuple[Text, ...], msgspec.Meta(max_length=50)]


class Sync(Given, frozen=True, kw_only=True, omit_defaults=True):
    """`revision`: instead of the target revision; `options`: as in the spec."""

    revision: Annotated[str, msgspec.Meta(max_length=253)] = ""
    prune: bool = False
    dry_run: bool = False
    resources: Objects = ()
    options: Options = ()


class Refresh(Given, frozen=True, kw_only=True, omit_defaults=True):
    hard: bool = False
    """Forget what is cached: charts, rendered manifests."""


class Rollback(Given, frozen=True, kw_only=True):
    history_id: Annotated[int, msgspec.Meta(ge=0, le=2**53)]
    prune: bool = False


class Filter(ApplicationsQuery, frozen=True, kw_only=True):
    """As for the list."""


class Bulk(Given, frozen=True, kw_only=True):
    """Either ids or a filter; at most 500 applications."""

    ids: Annotated[tuple[Id, ...], msgspec.Meta(max_length=_MOST)] | None = None
    filter: Filter | None = None


class BulkSync(Bulk, frozen=True, kw_only=True):
    prune: bool = False
    dry_run: bool = False
    options: Options = ()


class BulkRefresh(Bulk, frozen=True, kw_only=True):
    hard: bool = False


async def sync(call: Call, given: Sync) -> Accepted:
    """Make live equal desired."""
    row = await apps.find(call, call.id, SYNC)
    return await _ordered(call, row, TaskKind.SYNC, await _sync_arguments(call, row, given))


async def refresh(call: Call, given: Refresh) -> Accepted:
    """Look at the source again."""
    row = await apps.find(call, call.id, SYNC)
    return await _ordered(call, row, TaskKind.REFRESH, msgspec.to_builtins(given))


async def terminate(call: Call, _given: Nothing) -> Accepted:
    """End the operation that runs."""
    row = await apps.find(call, call.id, SYNC)
    return await _ordered(call, row, TaskKind.TERMINATE, {})


async def rollback(call: Call, given: Rollback) -> Accepted:
    """Sync to what was deployed before, by its id in the history."""
    row = await apps.find(call, call.id, SYNC)
    _check_known(
        given.history_id, await apps.body_of(call, row), f"{row['namespace']}/{row['name']}"
    )
    return await _ordered(call, row, TaskKind.ROLLBACK, msgspec.to_builtins(given))


async def bulk_sync(call: Call, given: BulkSync) -> AcceptedAll:
    """Sync many: one task each, behind what single people wait for."""
    options = Sync(prune=given.prune, dry_run=given.dry_run, options=given.options)

    async def arguments(row: RowMapping) -> dict[str, Any]:
        return await _sync_arguments(call, row, options)

    return await _all(call, given, TaskKind.SYNC, arguments)


async def bulk_refresh(call: Call, given: BulkRefresh) -> AcceptedAll:
    """Refresh many."""

    async def arguments(_row: RowMapping) -> dict[str, Any]:
        said: dict[str, Any] = msgspec.to_builtins(Refresh(hard=given.hard))
        return said

    return await _all(call, given, TaskKind.REFRESH, arguments)


async def _sync_arguments(call: Call, row: RowMapping, given: Sync) -> dict[str, Any]:
    """With `override` where the caller may do what the Application itself does not say.

    Whether the target reaches a commit, and which options weaken the Application's own, is known
    to the agent only; what weakens in any case is refused here.
    """
    place = await apps.place_of(call, row)
    if _WEAKENING & {word.strip() for word in given.options}:
        call.require(OVERRIDE, place, f"application {row['namespace']}/{row['name']}")
    arguments: dict[str, Any] = msgspec.to_builtins(given)
    return {**arguments, "override": True} if call.may(OVERRIDE, place) else arguments


def _check_known(history_id: int, body: Mapping[str, Any], name: str) -> None:
    """Raises ProblemError where the history as it is known has no such entry."""
    status = body.get("status")
    found = status.get("history") if isinstance(status, Mapping) else None
    known = [it.get("id", 0) for it in found or () if isinstance(it, Mapping)]
    if history_id in known:
        return
    there = f"there are {', '.join(map(str, known))}" if known else "nothing was deployed yet"
    raise invalid("historyId", f"{name} has no history entry {history_id}; {there}", rule="known")


async def _ordered(
    call: Call, row: RowMapping, kind: TaskKind, arguments: dict[str, Any]
) -> Accepted:
    return Accepted(task=await submit(call, order_for(row, kind, arguments)))


def order_for(row: RowMapping, kind: TaskKind, arguments: dict[str, Any]) -> Order:
    return Order(
        agent_id=row["agent_id"],
        kind=kind,
        subject=f"{row['namespace']}/{row['name']}",
        project=row["project"],
        arguments=arguments,
        action=f"application.{kind}",
    )


async def _all(call: Call, given: Bulk, kind: TaskKind, arguments: Arguments) -> AcceptedAll:
    """All of them or none: one that may not be synced refuses the whole request."""
    if (given.ids is None) == (given.filter is None):
        raise invalid("ids", "expected either ids or filter", rule="one-of")
    ids = given.ids if given.ids is not None else await _filtered(call, given.filter)
    found: list[Task] = []
    for id_ in dict.fromkeys(ids):
        row = await apps.find(call, id_, SYNC)
        order = order_for(row, kind, await arguments(row))
        order = msgspec.structs.replace(order, clazz=TaskClass.BULK)
        found.append(await submit(call, order, part=id_))
    return AcceptedAll(tasks=found)


async def _filtered(call: Call, given: Filter | None) -> tuple[str, ...]:
    given = msgspec.structs.replace(given or Filter(), limit=_MOST, cursor="")
    query = apps.selected().where(visible_applications(call.caller, SYNC), *filters_of(given))
    order = ORDERS[Sort.NAME]
    found = await rows_of(call.connection, query, order, given, "bulk")
    if found.next is not None:
        raise invalid("filter", f"more than {_MOST} applications match", rule="size")
    return tuple(row["id"] for row in found.rows)


def _post(path: str, handler: Any, takes: type[Given], gives: Any = Accepted) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/applications/{path}",
        needs=SYNC,
        handler=handler,
        takes=takes,
        gives=gives,
        status=202,
    )


ENDPOINTS = (
    _post("bulk/sync", bulk_sync, BulkSync, AcceptedAll),
    _post("bulk/refresh", bulk_refresh, BulkRefresh, AcceptedAll),
    _post("{id}/sync", sync, Sync),
    _post("{id}/refresh", refresh, Refresh),
    _post("{id}/terminate", terminate, Nothing),
    _post("{id}/rollback", rollback, Rollback),
)
