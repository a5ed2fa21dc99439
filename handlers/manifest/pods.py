"""A pod as a service instance: which images it runs, whether it is ready, since when. Pure.

A pod that has finished is no instance any more; one that is about to start is one that is not
ready, so that a rollout shows the old and the new side by side.
"""

from __future__ import annotations

import sys

import msgspec

from handlers.manifest.access import Manifest, api_version, items, kind, text
from handlers.manifest.images import images

_FINISHED = frozenset({"Succeeded", "Failed"})


class PodState(msgspec.Struct, frozen=True, kw_only=True):
    images: tuple[str, ...] = ()
    ready: bool = False
    started_at: str = ""
    """RFC 3339; empty where no node has taken it yet."""


def pod_state(manifest: Manifest) -> PodState | None:
    """None for what is no pod, and for a pod that has finished."""
    if kind(manifest) != "Pod" or api_version(manifest) != "v1":
        return None
    if text(manifest, "status", "phase") in _FINISHED:
        return None
    return PodState(
        images=tuple(map(sys.intern, images(manifest))),
        ready=any(_is_ready(it) for it in items(manifest, "status", "conditions")),
        started_at=text(manifest, "status", "startTime"),
    )


def _is_ready(condition: Manifest) -> bool:
    return condition.get("type") == "Ready" and condition.get("status") == "True"
