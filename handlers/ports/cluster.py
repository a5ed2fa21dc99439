"""The destination cluster: writes, one object at a time."""

from __future__ import annotations

from typing import Protocol

import msgspec

from handlers.manifest.access import Manifest
from handlers.ports.live import LiveObject


class ApplyOptions(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: bool = False
    force_conflicts: bool = True
    replace: bool = False
    validate: bool = True
    take_over: bool = True
    """Make the fields that kubectl, Helm or Argo CD applied before us ours."""


class Cluster(Protocol):
    """Writes to the destination cluster. All raise ApplyRefusedError or ClusterUnreachableError.

    What the API server answers goes into the index before the call returns.
    """

    async def apply(self, manifest: Manifest, options: ApplyOptions) -> LiveObject: ...
    async def delete(self, live: LiveObject, *, propagation: str = "foreground") -> None:
        """Delete exactly this object (by UID); an absent one is no error."""
        ...

    async def read(self, live: LiveObject, version: str) -> LiveObject:
        """The object as another version of its kind says it: the index knows only one."""
        ...

    async def refresh_kinds(self) -> None:
        """Look at discovery again: a CRD was just applied."""
        ...
