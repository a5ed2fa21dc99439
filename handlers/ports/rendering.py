"""The rendering ports: recipes, the sandbox that evaluates them, artifacts, and last renders.

A recipe holds everything that a render depends on besides the files that it reads, so `fingerprint`
and the read set together are the cache key of a render.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from enum import StrEnum
from typing import Protocol

import msgspec

from bus.identity import NO_DIGEST, NO_REVISION, AppKey, Digest, RepositoryKey, Revision, digest_of
from bus.status import Reason
from handlers.application.revisions import Revisions
from handlers.application.spec import DirectorySource, HelmSource, KustomizeSource
from handlers.application.tool_settings import BuildOptions
from handlers.ports.chart_dependency import ChartDependency, DependencyRecord
from handlers.ports.sources import CommitTree


class SourceType(StrEnum):
    DIRECTORY = "Directory"
    HELM = "Helm"
    KUSTOMIZE = "Kustomize"
    PLUGIN = "Plugin"


class PluginRecipe(msgspec.Struct, frozen=True):
    """The config management plugin of a recipe, with all variables that its commands get."""

    name: str
    environment: tuple[tuple[str, str], ...]


class Recipe(msgspec.Struct, frozen=True, kw_only=True):
    """One application's render; `path` is relative to the repository's root, `""` is the root."""

    type: SourceType
    path: str
    app_name: str
    namespace: str
    """The destination's namespace: Helm's release namespace."""
    directory: DirectorySource = DirectorySource()
    skip_jsonnet: bool = False
    """Whether jsonnet files of a folder are passed over, because the settings disable jsonnet."""
    helm: HelmSource = HelmSource()
    kustomize: KustomizeSource = KustomizeSource()
    build: BuildOptions = BuildOptions()
    """How a kustomization is built."""
    kube_version: str = ""
    api_versions: tuple[str, ...] = ()
    """`group/version` and `group/version/Kind` of the destination."""
    refs: tuple[str, ...] = ()
    """The refs of other sources whose files it reads, as `$name/path`; sorted."""
    plugin: PluginRecipe | None = None
    """Of the type `Plugin` only."""

    @property
    def fingerprint(self) -> Digest:
        return digest_of(msgspec.json.encode(self, order="sorted"))


class RecordedOrigin(msgspec.Struct, frozen=True):
    """Where an object was written: `document` counts from 1 in `file`; 0 when not known."""

    file: str
    document: int = 0


class RenderResult(msgspec.Struct, frozen=True, kw_only=True):
    """Objects as JSON in source order, their origins in the same order, and the read set."""

    objects: tuple[bytes, ...]
    origins: tuple[RecordedOrigin, ...]
    read_set: Mapping[str, str]
    """Path -> object id; see `handlers/render/read_set.py` for folders and absent files."""
    refs: Mapping[str, Mapping[str, str]] = {}
    """By ref, the read set of what was read of the referenced source."""


class RefRecord(msgspec.Struct, frozen=True):
    """What a render read of the source that a ref names."""

    repository: RepositoryKey
    read_set: dict[str, str]


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
    digest: Digest = NO_DIGEST
    """Its objects before they are put together; kept where there are several sources."""
    plugin: str = ""
    """The name of the plugin that rendered it."""

    def reads(self) -> Iterator[tuple[RepositoryKey, Mapping[str, str]]]:
        """The read sets, each with the repository that it is of."""
        yield self.repository, self.read_set
        for one in self.refs.values():
            yield one.repository, one.read_set


class SourceProof(msgspec.Struct, frozen=True, omit_defaults=True):
    """That the sources of a render were signed as the project demanded."""

    demand: str = ""
    """The digest of what was demanded, and of the keys that were trusted; empty for nothing."""
    until: float = 0.0
    """When the first of the signatures or keys expires, in seconds of the epoch; 0 for never."""


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
    def source_types(self) -> tuple[str, ...]:
        """The type of each source; empty for one that renders nothing."""
        return tuple(one.source_type or "" for one in self.sources)


class RenderError(Exception):
    """The files or the recipe are wrong, or a limit was met: a user must act."""

    def __init__(
        self, reason: Reason, message: str, *, file: str = "", document: int = 0, line: int = 0
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.file = file
        self.document = document
        self.line = line


class MissingChartsError(RenderError):
    """The chart depends on charts that are not beside it; with their files it can be rendered."""

    charts: tuple[ChartDependency, ...] = ()


class Renderer(Protocol):
    async def render(
        self,
        recipe: Recipe,
        tree: CommitTree,
        *,
        refs: Mapping[str, CommitTree] = {},
        charts: Mapping[ChartDependency, CommitTree] = {},
        project: str,
        hard: bool = False,
    ) -> RenderResult:
        """Evaluate in the sandbox, queued fairly by project; raises RenderError, RendererBusyError.

        `refs` are the files of the refs that the recipe names, `charts` those of dependencies; more
        of them may be asked for by MissingChartsError. `hard` tries a recipe again that is known to
        fail.
        """
        ...

    async def document(self, content: bytes, *, file: str, project: str) -> object:
        """Read the one YAML document of a file; None where it is empty. RenderError as above."""
        ...


class Artifacts(Protocol):
    """Stored bytes by digest: disk, then Redis where configured."""

    async def put(self, content: bytes) -> Digest: ...
    async def get(self, digest: Digest) -> bytes | None: ...


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

    def readers(self, repository: RepositoryKey, paths: Iterable[str]) -> frozenset[AppKey]:
        """Applications whose read set may be touched by a change of `paths` (files)."""
        ...
