"""Drift minutes, from the ledger: for how long each application drifted on each day.

The one computation behind every number of drift minutes: the drift page's and the fleet's.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

import msgspec
from sqlalchemy import ColumnElement, RowMapping, or_, select

from service.api.call import Call
from service.api.places import ENVIRONMENT, REGION
from service.history.minutes import Span, minutes
from service.history.visible import same_application, visible
from service.projection.applications import application_id
from service.store.tables import agents, applications, drifts

_MOST = 100_000


class Drifted(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    application: str
    subject: str
    environment: str
    region: str
    minutes: float


async def drifted(
    call: Call, since: datetime, until: datetime, conditions: Iterable[ColumnElement[bool]] = ()
) -> list[Drifted]:
    """Of what one may see, the newest day first; a drift that lasts counts until now."""
    query = (
        select(drifts.c.agent_id, drifts.c.subject, drifts.c.began_at, drifts.c.ended_at)
        .add_columns(ENVIRONMENT.label("environment"), REGION.label("region"))
        .join(agents, agents.c.id == drifts.c.agent_id)
        .outerjoin(applications, same_application(drifts))
        .where(visible(call), *within(since, until), *conditions)
        .limit(_MOST)
    )
    rows = list((await call.connection.execute(query)).mappings())
    about = {_id(row): row for row in rows}
    spans = (_span(row, call.now) for row in rows)
    return [
        Drifted(
            day=day,
            application=id_,
            subject=about[id_]["subject"],
            environment=about[id_]["environment"],
            region=about[id_]["region"],
            minutes=count,
        )
        for (day, id_), count in sorted(minutes(spans, since, until).items(), reverse=True)
    ]


def within(since: datetime | None, until: datetime | None) -> Iterable[ColumnElement[bool]]:
    """A drift counts where any part of it lies within the time."""
    if since is not None:
        yield or_(drifts.c.ended_at.is_(None), drifts.c.ended_at > since)
    if until is not None:
        yield drifts.c.began_at < until


def _span(row: RowMapping, now: datetime) -> Span:
    return Span(application=_id(row), begin=row["began_at"], end=row["ended_at"] or now)


def _id(row: RowMapping) -> str:
    return application_id(row["agent_id"], row["subject"])
