"""Asks and commands request work of a handler.

An ask is a reason to look again: its handler reads the state from Git and the cluster. A command
comes from a person or the service, is never merged, and is idempotent by `id`.
"""

from __future__ import annotations

from typing import ClassVar

from bus.events.event import Ask, Command
from bus.identity import (
    NO_REVISION,
    AppKey,
    HydratedBranch,
    RepositoryKey,
    ResourceKey,
    Revision,
    shard_of,
)


class RefreshRepository(Ask, frozen=True, kw_only=True):
    """Fetch the repository and find what its new commits touch."""

    name: ClassVar[str] = "refresh.v1"
    repository: RepositoryKey
    ref: str = ""
    """A hint for logs: the ref that was pushed; the handler looks at all refs in use."""
    part: str = ""
    """The shard whose holder looks, for its own Applications; empty where shards are not divided.

    A repository is of no shard: its Applications are of many, and each replica fetches for its own.
    """

    @property
    def key(self) -> RepositoryKey:
        return self.repository

    @property
    def shard(self) -> str:
        return self.part or shard_of(self.key.token)


class RefreshApp(Ask, frozen=True, kw_only=True):
    """Resolve and render the application's source again; `hard` ignores every cache."""

    name: ClassVar[str] = "render.v1"
    app: AppKey
    hard: bool = False

    @property
    def key(self) -> AppKey:
        return self.app


class HydrateBranch(Ask, frozen=True, kw_only=True):
    """Render the dry source of a branch's Applications, and commit what differs to the branch."""

    name: ClassVar[str] = "hydrate.v1"
    branch: HydratedBranch
    revision: Revision = NO_REVISION
    """The dry commit that was seen; a mirror that does not have it there is fetched first."""

    @property
    def key(self) -> HydratedBranch:
        return self.branch


class CompareApp(Ask, frozen=True, kw_only=True):
    """Pair desired and live again: something in the cluster changed."""

    name: ClassVar[str] = "compare.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app


class StepOperation(Ask, frozen=True, kw_only=True):
    """Take the next step of the application's operation, starting it where it has not begun."""

    name: ClassVar[str] = "step.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app


class AssessApp(Ask, frozen=True, kw_only=True):
    """Aggregate the health of the application's objects again."""

    name: ClassVar[str] = "assess.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app


class DeleteApp(Ask, frozen=True, kw_only=True):
    """The Application is being deleted with our finalizer: delete what it deployed, by waves."""

    name: ClassVar[str] = "delete.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app


class SyncApp(Command, frozen=True, kw_only=True):
    """Make live equal desired, at `revision` or at the target revision where it is empty."""

    name: ClassVar[str] = "sync.v1"
    app: AppKey
    revision: Revision = NO_REVISION
    revisions: tuple[Revision, ...] = ()
    """One for each of `spec.sources`, where an empty text is the target revision of its source."""
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
    override_window: str = ""
    """Why this one operation shall pass a closed sync window; empty where it shall not."""

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
