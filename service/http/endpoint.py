"""Endpoints: the rows from which both the router and the OpenAPI document are made.

A handler takes the call and its input (the body where the method has one, else the query) and
returns its answer; it raises ProblemError for everything else.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import msgspec

from service.access.permissions import Permission
from service.http.call import ApiCall

PREFIX = "/api/v1"


class RequestModel(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True
):
    """Base of what a request carries: a field we do not know is refused by its name."""


class ResponseModel(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what is answered: every field always stands there."""


class NoInput(RequestModel, frozen=True, kw_only=True):
    """No query and no body."""


class OpenAccess(StrEnum):
    """Instead of a permission."""

    EVERYONE = "everyone"
    """Without login."""
    LOGGED_IN = "logged-in"


Handler = Callable[[ApiCall, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`needs` is held somewhere at least, or the call is denied before anything is looked up."""

    method: str
    path: str
    """Below the prefix, as aiohttp writes it: `/agents/{id}`."""
    needs: Permission | OpenAccess
    handler: Handler
    takes: type[RequestModel] = NoInput
    reads: Any = None
    """What the handler gets instead of `takes`, where it checks the raw body itself."""
    gives: Any = None
    """Type of the answer, or of each event of a stream; None: no JSON, or no answer at all."""
    status: int = 200
    media: str = "application/json"
    title: str = ""
    """The summary, where several nouns share the handler; else its docstring says it."""
    prefix: str = PREFIX

    @property
    def full_path(self) -> str:
        return self.prefix + self.path

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH")

    @property
    def summary(self) -> str:
        """Summarise the endpoint as the OpenAPI document says it: verb and noun."""
        return self.title or (self.plain.__doc__ or "").strip().partition("\n")[0]

    @property
    def plain(self) -> Any:
        """The function itself, where a noun was bound to it."""
        return self.handler.func if isinstance(self.handler, partial) else self.handler

    @property
    def name(self) -> str:
        """Unique: `list_agents`, or with the noun for what several share."""
        name: str = self.plain.__name__
        return name if self.plain is self.handler else f"{name}_{self.path.split('/')[1]}"
