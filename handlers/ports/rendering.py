"""The rendering ports: recipes, the sandbox that evaluates them, and artifacts.

A recipe holds everything that a render depends on besides the files that it reads, so `fingerprint`
and the read set together are the cache key of a render.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol

import msgspec

from bus.identity import Digest, digest_of
from bus.status import Reason
from handlers.application.spec import DirectorySource, HelmSource, KustomizeSource
from handlers.application.tool_settings import BuildOptions
from handlers.ports.chart_dependency import ChartDependency
from handlers.ports.remote_base import RemoteBase
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
    bases: Mapping[RemoteBase, Mapping[str, str]] = {}
    """The read set of what was read of each remote base."""


class FetchedSources(msgspec.Struct, frozen=True, kw_only=True):
    """The files of what was fetched for a render because its files name it."""

    charts: Mapping[ChartDependency, CommitTree] = {}
    bases: Mapping[RemoteBase, CommitTree] = {}


NOTHING_FETCHED = FetchedSources()


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


class MissingBasesError(RenderError):
    """The kustomization names remote bases; with their files it can be built."""

    bases: tuple[RemoteBase, ...] = ()


class Renderer(Protocol):
    async def render(
        self,
        recipe: Recipe,
        tree: CommitTree,
        *,
        refs: Mapping[str, CommitTree] = {},
        fetched: FetchedSources = NOTHING_FETCHED,
        project: str,
        hard: bool = False,
    ) -> RenderResult:
        """Evaluate in the sandbox, queued fairly by project; raises RenderError, RendererBusyError.

        `refs` are the files of the refs that the recipe names; more than what was `fetched` may be
        asked for by MissingChartsError and MissingBasesError. `hard` tries a recipe again that is
        known to fail.
        """
        ...

    async def document(self, content: bytes, *, file: str, project: str) -> object:
        """Read the one YAML document of a file; None where it is empty. RenderError as above."""
        ...


class Artifacts(Protocol):
    """Stored bytes by digest: disk, then Redis where configured."""

    async def put(self, content: bytes) -> Digest: ...
    async def get(self, digest: Digest) -> bytes | None: ...
