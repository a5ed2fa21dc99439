"""One row of the API: from these rows both the router and the OpenAPI document are made.

A handler takes the call and what was given (the body where the method has one, else the query) and
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
from service.api.call import Call

PREFIX = "/api/v1"


class Given(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Base of what a request carries: a field we do not know is refused by its name."""


class Answer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of what is answered: every field always stands there."""


class Nothing(Given, frozen=True, kw_only=True):
    """No query and no body."""


class Open(StrEnum):
    """Instead of a permission."""

    EVERYONE = "everyone"
    """Without login."""
    LOGGED_IN = "logged-in"


Handler = Callable[[Call, Any], Awaitable[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """`needs` is held somewhere at least, or the call is denied before anything is looked up."""

    method: str
    path: str
    """Below the prefix, as aiohttp writes it: `/agents/{id}`."""
    needs: Permission | Open
    handler: Handler
    takes: type[Given] = Nothing
    reads: Any = None
    """What the handler gets instead of `takes`, where it checks the raw body itself."""
    gives: Any = None
    """Type of the answer; None: an answer of another media type, or none at all."""
    status: int = 200
    media: str = "application/json"
    prefix: str = PREFIX

    @property
    def full_path(self) -> str:
        return self.prefix + self.path

    @property
    def has_body(self) -> bool:
        return self.method in ("POST", "PUT", "PATCH")

    @property
    def summary(self) -> str:
        """The first line of the handler's docstring."""
        return (self.plain.__doc__ or "").strip().partition("\n")[0]

    @property
    def plain(self) -> Any:
        """The function itself, where a noun was bound to it."""
        return self.handler.func if isinstance(self.handler, partial) else self.handler

    @property
    def name(self) -> str:
        """Unique: `list_agents`, or with the noun for what several share."""
        name: str = self.plain.__name__
        return name if self.plain is self.handler else f"{name}_{self.path.split('/')[1]}"
