"""The port of signatures: what the commits of a Git repository are signed with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bus.identity import Revision
from handlers.ports.sources import RepositoryAccess
from handlers.trust.signature import SignatureCheck


class Signatures(Protocol):
    """Checks signatures against the keys that the cluster's owner trusts."""

    @property
    def trust(self) -> str:
        """The fingerprint of all trusted keys: with another one, another answer is possible."""
        ...

    @property
    def trust_problem(self) -> str:
        """Why no key is trusted, where that is not because there is none."""
        ...

    async def checks(
        self,
        repository: RepositoryAccess,
        revision: Revision,
        *,
        targets: Sequence[str],
        strict: bool,
    ) -> tuple[SignatureCheck, ...]:
        """Check the annotated tag that a target names, else the commit of the revision.

        `strict`: the tag, and every commit from the revision back to the roots or to a seal.
        Raises RepositoryError, RenderError where nothing can be checked, RendererBusyError where
        more is to be checked than one call may, and TagMovedError.
        """
        ...


class TagMovedError(Exception):
    """A target names a tag of another commit by now: the source is to be resolved again."""

    def __init__(self, tag: str) -> None:
        super().__init__(f"the tag {tag} has moved while it was looked at")
