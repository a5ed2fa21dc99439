"""The record of a render: what it was made of, so that an equal one is never made again.

`Renders` is the port of the store that keeps the last good record of each Application.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Protocol

import msgspec

from bus.identity import NO_DIGEST, NO_REVISION, AppKey, Digest, RepositoryKey, Revision
from handlers.application.revisions import Revisions
from handlers.ports.chart_dependency import DependencyRecord
from handlers.ports.remote_base import RemoteBase
from handlers.ports.rendering import SourceType


class RefRecord(msgspec.Struct, frozen=True):
    """What a render read of the source that a ref names."""

    repository: RepositoryKey
    read_set: dict[str, str]


class SourceProof(msgspec.Struct, frozen=True, omit_defaults=True):
    """That the sources of a render were signed as the project demanded."""

    demand: str = ""
    """The digest of what was demanded, and of the keys that were trusted; empty for nothing."""
    until: float = 0.0
    """When the first of the signatures or keys expires, in seconds of the epoch; 0 for never."""


class BaseRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a render read of a remote base: where, with whose login, of which commit."""

    wanted: RemoteBase
    repository: RepositoryKey
    project: str = ""
    """The project of the login; empty for one of all projects."""
    revision: Revision
    read_set: dict[str, str]
    proof: SourceProof = SourceProof()


class SourceRecord(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last good render of one source; of one that has only a `ref`, where it led."""

    repository: RepositoryKey
    revision: Revision
    recipe: Digest = NO_DIGEST
    """Empty where the source renders nothing."""
    source_type: SourceType | None = None
    read_set: dict[str, str] = {}
    refs: dict[str, RefRecord] = {}
    """By name of the ref."""
    dependencies: tuple[DependencyRecord, ...] = ()
    """The charts that were fetched because its chart depends on them."""
    bases: tuple[BaseRecord, ...] = ()
    """The remote bases that were fetched because its kustomization names them."""
    digest: Digest = NO_DIGEST
    """Its objects before they are put together; kept where there are several sources."""
    plugin: str = ""
    """The name of the plugin that rendered it."""
    is_verified: bool = False
    """Whether its encrypted objects were checked; False in a record of an earlier version."""
    submodules: dict[str, str] = {}
    """The submodules that were read, by path, with their URLs."""

    def reads(self) -> Iterator[tuple[RepositoryKey, Mapping[str, str]]]:
        """The read sets, each with the repository that it is of."""
        yield self.repository, self.read_set
        for one in self.refs.values():
            yield one.repository, one.read_set
        for base in self.bases:
            yield base.repository, base.read_set


class RenderRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The last good render of an application, kept so that an equal one is never made again."""

    app: AppKey
    sources: tuple[SourceRecord, ...]
    """One for each source, in their order."""
    several: bool = False
    """Whether they are of `spec.sources`, of which there may be one."""
    digest: Digest
    objects: int
    repeated: tuple[str, ...] = ()
    """Objects that several sources have, as sentences; those of the last one are deployed."""
    unsupported: tuple[str, ...] = ()
    """Fields of override files that are not acted on, as sentences."""
    pinned_source: str = ""
    """The digest of the sources that an operation named; empty where they are the spec's own."""
    desired_sources: str = ""
    """The digest of the sources that it is of; empty in a record of an earlier version."""
    proof: SourceProof = SourceProof()
    tracking: str = ""
    """The tracking settings with which the objects were marked; empty for the default."""

    @property
    def revision(self) -> Revision:
        """The revision of the first source that renders, by which people know a deployment."""
        rendered = (one.revision for one in self.sources if one.recipe)
        return next(rendered, self.sources[0].revision if self.sources else NO_REVISION)

    @property
    def revisions(self) -> Revisions:
        if self.several:
            return Revisions(revisions=tuple(one.revision for one in self.sources))
        return Revisions(self.revision)

    @property
    def is_verified(self) -> bool:
        """Whether the encrypted objects of every source were checked."""
        return all(one.is_verified for one in self.sources if one.recipe)

    @property
    def source_types(self) -> tuple[str, ...]:
        """The type of each source; empty for one that renders nothing."""
        return tuple(one.source_type or "" for one in self.sources)


class Renders(Protocol):
    """The last good render of each Application, indexed by the paths that it read."""

    def recall(self, app: AppKey) -> RenderRecord | None: ...
    async def remember(self, record: RenderRecord) -> None: ...
    async def forget(self, app: AppKey) -> None: ...
    def rendered(self, repository: RepositoryKey) -> AbstractSet[AppKey]:
        """Applications whose last good render is of this repository, among others."""
        ...

    @property
    def by_plugins(self) -> AbstractSet[AppKey]:
        """Applications that a plugin renders: it gets all files and the commit's id."""
        ...

    def base_users(self, repository: RepositoryKey) -> Mapping[RemoteBase, AbstractSet[AppKey]]:
        """Applications whose last good render used a remote base of this repository that moves."""
        ...

    def readers(self, repository: RepositoryKey, paths: Iterable[str]) -> frozenset[AppKey]:
        """Applications whose read set may be touched by a change of `paths` (files)."""
        ...
