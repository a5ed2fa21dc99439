"""Fields that many requests share: names, labels, ids, times, and the filter by environment."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, overload

import msgspec
from sqlalchemy import ColumnElement, func

from service.http.endpoint import RequestModel
from service.http.pages import PageQuery
from service.store.tables import agents, applications

NAME_PATTERN = r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$"
Name = Annotated[str, msgspec.Meta(pattern=NAME_PATTERN, max_length=63)]
"""As Kubernetes wants names: it becomes part of subjects and file names."""
Title = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
"""For people: anything they can type."""
Text = Annotated[str, msgspec.Meta(max_length=200)]
Short = Annotated[str, msgspec.Meta(max_length=63)]
Id = Annotated[str, msgspec.Meta(max_length=64)]
LabelKey = Annotated[str, msgspec.Meta(min_length=1, max_length=317)]
Labels = Annotated[
    dict[LabelKey, Annotated[str, msgspec.Meta(max_length=63)]], msgspec.Meta(max_length=64)
]
Version = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
ENVIRONMENT = func.coalesce(applications.c.environment, agents.c.environment)
REGION = func.coalesce(applications.c.region, agents.c.region)
"""Of a query that joins `agents`, and `applications` outer."""


@overload
def text_of(time: datetime) -> str: ...


@overload
def text_of(time: datetime | None) -> str | None: ...


def text_of(time: datetime | None) -> str | None:
    """RFC 3339 in UTC."""
    if time is None:
        return None
    return time.astimezone(UTC).isoformat().replace("+00:00", "Z")


class EnvironmentFilter(RequestModel, frozen=True, kw_only=True):
    """Several environments or regions are separated by commas."""

    environment: Text = ""
    region: Text = ""


class EnvironmentQuery(PageQuery, frozen=True, kw_only=True):
    """The same, of a list."""

    environment: Text = ""
    region: Text = ""


def in_environment(
    params: EnvironmentFilter | EnvironmentQuery,
    environment: Any = ENVIRONMENT,
    region: Any = REGION,
) -> Iterator[ColumnElement[bool]]:
    if params.environment:
        yield environment.in_(params.environment.split(","))
    if params.region:
        yield region.in_(params.region.split(","))
