"""The pipes in the walls: what a room may ask of the world, as small Protocols.

Adapters in agent/ implement them and translate foreign exceptions into the errors named here.
Synchronous methods answer from memory and never block; awaited ones may reach out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from bus.identity import AppKey, Digest, RepositoryKey, ResourceKey, Revision
from bus.status import HealthStatus, Reason
from handlers.application.application import Application, AppProject
from handlers.application.status import ApplicationStatus
from handlers.manifest.kinds import KindInfo
from handlers.render.recipe import Recipe, Rendered, RenderRecord

Manifest = Mapping[str, Any]


# --- errors a room can meet -------------------------------------------------------------------


class RepositoryError(Exception):
    """A repository or a revision in it cannot be read: `message` names URL, cause and remedy."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class ClusterUnreachableError(Exception):
    """The API server did not answer; the same call may succeed later."""


class ApplyRefusedError(Exception):
    """The API server said no to one object; `code` is its HTTP status, `message` its words.

    `permanent` is False where the same call may succeed a moment later (a CRD not yet established,
    a namespace not there yet, 429, 5xx).
    """

    def __init__(self, message: str, *, code: int, permanent: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.permanent = permanent


class StaleWriteError(Exception):
    """The Application changed since it was read: read it again."""


# --- Git --------------------------------------------------------------------------------------


class EntryKind(StrEnum):
    BLOB = "blob"
    TREE = "tree"
    SYMLINK = "symlink"
    SUBMODULE = "submodule"


class TreeEntry(msgspec.Struct, frozen=True):
    name: str
    kind: EntryKind
    oid: str
    size: int = 0
    """Bytes of a blob or symlink; 0 for folders."""


class Tree(Protocol):
    """The files of one commit. Paths are relative to the repository's root; `""` is the root."""

    def entry(self, path: str) -> TreeEntry | None: ...
    def list(self, path: str) -> tuple[TreeEntry, ...]: ...
    def read(self, oid: str) -> bytes: ...


class Git(Protocol):
    """Mirrors of repositories, by the Application's URL. Every method raises RepositoryError."""

    async def fetch(self, url: str) -> None: ...
    async def resolve(self, url: str, target_revision: str) -> Revision:
        """Branch, tag, commit or HEAD (or `""`) -> commit; fetches where there is no mirror yet."""
        ...

    async def tree(self, url: str, revision: Revision) -> Tree: ...
    async def changed_paths(
        self, url: str, before: Revision, after: Revision
    ) -> frozenset[str] | None:
        """Files that differ, both sides of a rename; None where `before` is not known any more."""
        ...


# --- rendering --------------------------------------------------------------------------------


class Renderer(Protocol):
    async def render(self, recipe: Recipe, tree: Tree) -> Rendered:
        """Evaluate in the sandbox; raises RenderError."""
        ...


class Artifacts(Protocol):
    """Stored bytes by digest: disk, then Redis where configured."""

    async def put(self, content: bytes) -> Digest: ...
    async def get(self, digest: Digest) -> bytes | None: ...


class Renders(Protocol):
    """The last good render of each application, and who read which path."""

    def recall(self, app: AppKey) -> RenderRecord | None: ...
    async def remember(self, record: RenderRecord) -> None: ...
    async def forget(self, app: AppKey) -> None: ...
    def readers(self, repository: RepositoryKey, paths: Iterable[str]) -> frozenset[AppKey]:
        """Applications whose read set may be touched by a change of `paths` (files)."""
        ...


class Refs(Protocol):
    """What each target revision last meant, so that a fetch can tell what is new. A cache."""

    def last(self, repository: RepositoryKey, target_revision: str) -> Revision: ...
    def note(self, repository: RepositoryKey, target_revision: str, revision: Revision) -> None: ...


# --- the cluster ------------------------------------------------------------------------------


class LiveObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of the cluster as the index keeps it: a summary, and its bytes for roots only."""

    key: ResourceKey
    version: str
    uid: str
    resource_version: str
    tracking: str = ""
    """The tracking annotation's value."""
    owners: tuple[str, ...] = ()
    """UIDs of owner references."""
    health: HealthStatus | None = None
    """None: this kind has no health."""
    health_message: str = ""
    deleting: bool = False
    fingerprint: str = ""
    """Of the content without status and volatile metadata: equal content, equal fingerprint."""
    body: bytes = b""
    """JSON without managedFields; empty for objects that no application tracks."""
    owned: bytes = b""
    """fieldsV1 (JSON) of our own field manager; empty when we never applied it."""
    written_by: str = ""
    """The field manager that wrote after our last apply; empty where nobody did."""

    @property
    def manifest(self) -> Manifest:
        """Decoded anew at each call: keep it, do not call it twice."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


class LiveState(Protocol):
    """The watched index of the destination cluster."""

    def get(self, key: ResourceKey) -> LiveObject | None: ...
    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        """Objects whose tracking annotation names `app` and themselves."""
        ...

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]: ...
    def kind(self, group: str, kind: str) -> KindInfo | None: ...
    def kube_version(self) -> str: ...
    def api_versions(self) -> tuple[str, ...]: ...


class ApplyOptions(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: bool = False
    force_conflicts: bool = True
    replace: bool = False
    validate: bool = True


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


# --- our own resources ------------------------------------------------------------------------


class StatusWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One small write to an Application: only what differs is sent, nothing if nothing does."""

    status: ApplicationStatus
    clear_operation: bool = False
    """Remove `.operation`: it has moved to `status.operationState`."""
    remove_annotations: tuple[str, ...] = ()
    remove_finalizers: tuple[str, ...] = ()
    guarded: bool = False
    """Raise StaleWriteError if the object changed since `app` was read."""


class Apps(Protocol):
    """The watched Applications and projects. A write goes through: the next read sees it."""

    def get(self, key: AppKey) -> Application | None: ...
    def problem(self, key: AppKey) -> str:
        """Why the Application cannot be read (field, expectation); empty where it can."""
        ...

    def all(self) -> Sequence[Application]: ...
    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]: ...
    def project(self, name: str) -> AppProject | None:
        """The project of the control namespace; `default` exists always and permits everything."""
        ...

    async def write(self, app: Application, change: StatusWrite) -> Application:
        """Raises StaleWriteError (guarded) or ClusterUnreachableError; a vanished app is none."""
        ...

    async def set_operation(self, app: Application, operation: Mapping[str, Any]) -> Application:
        """Write `.operation` if there is none: raises StaleWriteError where there is."""
        ...


class Clock(Protocol):
    def now(self) -> datetime:
        """Timezone-aware, UTC."""
        ...
