"""VersionChoice chooses the version that a range means, by the parser in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class VersionChoice(Protocol):
    async def highest(
        self, constraint: str, versions: Sequence[str], *, project: str
    ) -> str | None:
        """Choose the highest version that a range allows, as it is written in `versions`.

        Empty where none matches, None where the text is no range. What is no version is passed
        over. Raises RepositoryError. `project` is whose turn at the sandbox it is.
        """
        ...


class NoRanges:
    """A VersionChoice for whoever only looks whether a repository can be read."""

    async def highest(
        self, _constraint: str, _versions: Sequence[str], *, project: str
    ) -> str | None:
        del project
        return None
