"""Environment and region: the two filters that every list of things in places takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import ColumnElement, func

from service.api.endpoint import Given
from service.api.fields import Text
from service.api.pages import PageQuery
from service.store.tables import agents, applications

ENVIRONMENT = func.coalesce(applications.c.environment, agents.c.environment)
REGION = func.coalesce(applications.c.region, agents.c.region)
"""Of a query that joins `agents`, and `applications` outer."""


class PlaceFilter(Given, frozen=True, kw_only=True):
    """Several environments or regions are separated by commas."""

    environment: Text = ""
    region: Text = ""


class PlaceQuery(PageQuery, frozen=True, kw_only=True):
    """The same, of a list."""

    environment: Text = ""
    region: Text = ""


def in_place(
    given: PlaceFilter | PlaceQuery, environment: Any = ENVIRONMENT, region: Any = REGION
) -> Iterator[ColumnElement[bool]]:
    if given.environment:
        yield environment.in_(given.environment.split(","))
    if given.region:
        yield region.in_(given.region.split(","))
