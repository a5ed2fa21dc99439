"""The jq port: which fields of documents jq expressions name, evaluated in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec


class JqResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one expression on one document: existing places, or why there are none."""

    paths: tuple[tuple[str | int, ...], ...] = ()
    problem: str = ""
    overran: bool = False
    """Whether the problem is that it met a limit of time or memory."""


class JqPaths(Protocol):
    """Evaluates the expressions of users; both methods raise JqBusyError.

    `project` is whose turn at the sandbox it is.
    """

    async def problems(self, expressions: Sequence[str], *, project: str) -> Sequence[str]:
        """Say of each expression why it does not compile; empty where it does."""
        ...

    async def paths(
        self, expressions: Sequence[str], documents: Sequence[bytes], *, project: str
    ) -> Sequence[Sequence[JqResult]]:
        """Evaluate all expressions on each JSON document; one result each, in their order."""
        ...
