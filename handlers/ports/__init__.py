"""ports: what handlers ask of cluster, sources, sandbox and clock, as small Protocols.

Adapters in `agent/` implement the Protocols and translate foreign exceptions into those of
`errors`. Synchronous methods answer from memory and never block; awaited ones may use the network.
"""

from __future__ import annotations

from handlers.manifest.access import Manifest
from handlers.ports.apps import (
    AllApps,
    ApplicationLookup,
    Apps,
    FollowedRepositories,
    SourceFollowers,
    SourceGroup,
    StatusWrite,
)
from handlers.ports.clock import Clock
from handlers.ports.cluster import (
    ApplyOptions,
    Clusters,
    ClusterWriter,
    DestinationSession,
    LiveObject,
    LiveState,
)
from handlers.ports.errors import (
    ApplyRefusedError,
    ClusterUnreachableError,
    DestinationUnavailableError,
    DestinationUnknownError,
    FileNeededError,
    JqBusyError,
    RendererBusyError,
    RepositoryError,
    StaleWriteError,
    UnavailableError,
)
from handlers.ports.jq import JqPaths, JqResult
from handlers.ports.render_record import Renders
from handlers.ports.rendering import Artifacts, Renderer
from handlers.ports.sources import (
    CommitTree,
    EntryKind,
    KnownRefs,
    RepositoryAccess,
    SourceReader,
    Sources,
    TreeEntry,
)

__all__ = [
    "AllApps",
    "ApplicationLookup",
    "ApplyOptions",
    "ApplyRefusedError",
    "Apps",
    "Artifacts",
    "Clock",
    "ClusterUnreachableError",
    "ClusterWriter",
    "Clusters",
    "CommitTree",
    "DestinationSession",
    "DestinationUnavailableError",
    "DestinationUnknownError",
    "EntryKind",
    "FileNeededError",
    "FollowedRepositories",
    "JqBusyError",
    "JqPaths",
    "JqResult",
    "KnownRefs",
    "LiveObject",
    "LiveState",
    "Manifest",
    "Renderer",
    "RendererBusyError",
    "Renders",
    "RepositoryAccess",
    "RepositoryError",
    "SourceFollowers",
    "SourceGroup",
    "SourceReader",
    "Sources",
    "StaleWriteError",
    "StatusWrite",
    "TreeEntry",
    "UnavailableError",
]
