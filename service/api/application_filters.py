"""Which applications, in which order: the query of the list, as conditions of SQL."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec
from sqlalchemy import Column, ColumnElement, Integer, case, cast, func, or_
from sqlalchemy.dialects.postgresql import JSONB

from service.api.fields import Text
from service.api.pages import Order, PageQuery
from service.store.tables import agents, applications


class Sort(StrEnum):
    WORST = "worst"
    NAME = "name"
    CHANGED = "changed"


class ApplicationsQuery(PageQuery, frozen=True, kw_only=True):
    """Several values of a field are separated by commas; labels are `key=value` or `key`."""

    search: Text = ""
    project: Text = ""
    environment: Text = ""
    region: Text = ""
    agent: Text = ""
    health: Text = ""
    sync: Text = ""
    label: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    service: Text = ""
    attention: Text = ""
    sort: Sort = Sort.WORST


def filters_of(given: ApplicationsQuery) -> list[ColumnElement[bool]]:
    table = applications.c
    plain: tuple[tuple[str, Column[Any]], ...] = (
        (given.project, table.project),
        (given.environment, table.environment),
        (given.region, table.region),
        (given.health, table.health),
        (given.sync, table.sync),
        (given.service, table.service),
        (given.attention, table.attention),
    )
    found: list[ColumnElement[bool]] = []
    found += [column.in_(text.split(",")) for text, column in plain if text]
    if given.agent:
        wanted = given.agent.split(",")
        found.append(or_(agents.c.id.in_(wanted), agents.c.name.in_(wanted)))
    if given.search:
        word = given.search.lower()
        columns = (table.name, table.repository, table.service, table.project)
        found.append(or_(*(func.strpos(func.lower(it), word) > 0 for it in columns)))
    return found + [_labelled(part) for part in given.label.split(",") if part]


def _labelled(text: str) -> ColumnElement[bool]:
    key, equals, value = text.partition("=")
    if equals:
        return applications.c.labels.op("@>")(cast({key: value}, JSONB))
    has: ColumnElement[bool] = applications.c.labels.op("?")(key)
    return has


_TABLE = applications.c
_WORST = case(
    (_TABLE.health == "Degraded", 0),
    (_TABLE.attention.in_(("Unreadable", "SyncFailed", "Stuck")), 1),
    (_TABLE.health == "Missing", 2),
    (_TABLE.health == "Unknown", 3),
    (_TABLE.sync == "Unknown", 4),
    (_TABLE.sync == "OutOfSync", 5),
    (_TABLE.health == "Progressing", 6),
    (_TABLE.health == "Suspended", 7),
    else_=8,
)
_CHANGED = func.greatest(_TABLE.sync_since, _TABLE.health_since, type_=_TABLE.as_of.type)
ORDERS = {
    Sort.WORST: Order(columns=(cast(_WORST, Integer), _TABLE.name, _TABLE.id)),
    Sort.NAME: Order(columns=(_TABLE.name, _TABLE.id)),
    Sort.CHANGED: Order(
        columns=(func.coalesce(_CHANGED, _TABLE.as_of, type_=_TABLE.as_of.type), _TABLE.id),
        descending=True,
    ),
}
