"""HookCleaner: lets hooks go, and deletes them.

The finalizer is taken off first. A hook that is gone already is no error, so the same cleaning
twice leaves the same cluster.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterable
from dataclasses import dataclass

from handlers.comparison.dry_runs import gathered
from handlers.manifest.hooks import HOOK_FINALIZER
from handlers.ports import ApplyRefusedError, ClusterUnreachableError, ClusterWriter, LiveObject


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCleaner:
    writer: ClusterWriter

    async def clean(
        self, release: Iterable[LiveObject], delete: Iterable[LiveObject], propagation: str
    ) -> ApplyRefusedError | None:
        """Return the first refusal; the others are tried all the same.

        Raises ClusterUnreachableError.
        """
        refused = await _tried(self.writer.remove_finalizer(one, HOOK_FINALIZER) for one in release)
        deletions = (self.writer.delete(one, propagation=propagation) for one in delete)
        return await _tried(deletions) or refused


async def _tried(calls: Iterable[Awaitable[None]]) -> ApplyRefusedError | None:
    refused = None
    for error in await gathered(map(_outcome, calls)):
        if isinstance(error, ClusterUnreachableError):
            raise error
        refused = refused or error
    return refused


async def _outcome(call: Awaitable[None]) -> ApplyRefusedError | ClusterUnreachableError | None:
    """Return the error, so that the other calls go on."""
    try:
        await call
    except (ApplyRefusedError, ClusterUnreachableError) as error:
        return error
    return None
