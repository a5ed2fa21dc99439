"""The pipes in the walls: what a room may ask of the world, as small Protocols, a module a pipe.

Adapters in agent/ implement them and translate foreign exceptions into those of errors.py.
Synchronous methods answer from memory and never block; awaited ones may reach out.
"""

from __future__ import annotations

from handlers.manifest.access import Manifest
from handlers.ports.apps import Apps, StatusWrite
from handlers.ports.clock import Clock
from handlers.ports.cluster import ApplyOptions, Cluster
from handlers.ports.errors import (
    ApplyRefusedError,
    ClusterUnreachableError,
    RendererBusyError,
    RepositoryError,
    StaleWriteError,
)
from handlers.ports.git import (
    Commits,
    EntryKind,
    Git,
    Refs,
    RepositoryAccess,
    Tree,
    TreeEntry,
)
from handlers.ports.live import LiveObject, LiveState
from handlers.ports.rendering import Artifacts, Renderer, Renders

__all__ = [
    "ApplyOptions",
    "ApplyRefusedError",
    "Apps",
    "Artifacts",
    "Clock",
    "Cluster",
    "ClusterUnreachableError",
    "Commits",
    "EntryKind",
    "Git",
    "LiveObject",
    "LiveState",
    "Manifest",
    "Refs",
    "Renderer",
    "RendererBusyError",
    "Renders",
    "RepositoryAccess",
    "RepositoryError",
    "StaleWriteError",
    "StatusWrite",
    "Tree",
    "TreeEntry",
]
