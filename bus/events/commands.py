"""Commands: what a person or the service wants done. Never merged; `id` makes a repeat harmless."""

from __future__ import annotations

from typing import ClassVar

from bus.events.event import Command
from bus.identity import NO_REVISION, AppKey, ResourceKey, Revision


class SyncApp(Command, frozen=True, kw_only=True):
    """Make live equal desired, at `revision` or at the target revision where it is empty."""

    name: ClassVar[str] = "sync.v1"
    app: AppKey
    revision: Revision = NO_REVISION
    prune: bool = False
    dry_run: bool = False
    resources: tuple[ResourceKey, ...] = ()
    """Only these objects; all where empty."""
    options: tuple[str, ...] = ()
    """Sync options of this one operation, in place of the Application's; its own where empty."""
    history_id: int | None = None
    """An entry of the history: its source is deployed, as it was then, at `revision`."""
    from_control_plane: bool = False
    """It came over the link: the policy of the cluster's owner holds for what it changes."""

    @property
    def key(self) -> AppKey:
        return self.app


class RefreshNow(Command, frozen=True, kw_only=True):
    """Fetch the application's repository now; `hard` also renders again whatever the caches say."""

    name: ClassVar[str] = "refresh.v1"
    app: AppKey
    hard: bool = False

    @property
    def key(self) -> AppKey:
        return self.app


class TerminateOperation(Command, frozen=True, kw_only=True):
    """Stop the running operation before its next step."""

    name: ClassVar[str] = "terminate.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app
