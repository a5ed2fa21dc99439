"""The mark of what the control plane brought or changed: the owner's policy holds for it. Pure.

It is an annotation, written in the same request that puts the object over the link. Its presence
counts, whatever its value. The link cannot take it away (a put writes it again), nor can Git: an
object that has it keeps it with every apply. A person with access to the cluster can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bus.identity import ResourceKey
from handlers.application.application import Metadata
from handlers.manifest.access import Manifest, mapping

GOVERNED = "plumbline.dev/governed-by"
"""The annotation's name; its value says where to look."""
FROM_CONTROL_PLANE = "fromControlPlane"
"""The name in `operation.info` of an operation that came over the link."""
ARGO_GROUP = "argoproj.io"
OBJECTS_OF_THE_AGENT = frozenset({"Application", "AppProject"})
"""Kinds of ours that Git may bring, where the agent's owner says so."""
_VALUE = "gitops-agent-limits"


def is_marked(metadata: Metadata) -> bool:
    return GOVERNED in metadata.annotations


def marked(manifest: Manifest) -> dict[str, Any]:
    """A copy of `manifest` with the mark."""
    metadata = mapping(manifest, "metadata")
    notes: Mapping[str, Any] = {**mapping(metadata, "annotations"), GOVERNED: _VALUE}
    return {**manifest, "metadata": {**metadata, "annotations": notes}}


def is_ours(key: ResourceKey) -> bool:
    """Whether the object is one that tells the agent what to do."""
    return key.group == ARGO_GROUP and key.kind in OBJECTS_OF_THE_AGENT
