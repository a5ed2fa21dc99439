"""PodState: a pod as a service instance, with its images, readiness and start. Pure.

A pod that has finished is no instance any more. A pod that is about to start is an instance that is
not ready, so that a rollout shows the old and the new pods side by side.
"""

from __future__ import annotations

import sys

import msgspec

from handlers.manifest.access import Manifest, api_version, items, kind, mapping, text

_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"
_FINISHED = frozenset({"Succeeded", "Failed"})


class PodState(msgspec.Struct, frozen=True, kw_only=True):
    images: tuple[str, ...] = ()
    ready: bool = False
    started_at: str = ""
    """RFC 3339; empty where no node has taken it yet."""


def pod_state(manifest: Manifest) -> PodState | None:
    """The state of a pod; None for other objects, and for a pod that has finished."""
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


_POD_SPECS = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)
_LISTS = ("initContainers", "containers", "ephemeralContainers")


def images(manifest: Manifest) -> tuple[str, ...]:
    """List the images, sorted, each once."""
    found = {
        text(container, "image")
        for path in _POD_SPECS
        for containers in _LISTS
        for container in items(mapping(manifest, *path), containers)
    }
    return tuple(sorted(found - {""}))


def container_names(pod: Manifest) -> tuple[str, ...]:
    """List the containers in which a command can run: the usual ones first."""
    fields = ("containers", "ephemeralContainers", "initContainers")
    return tuple(text(it, "name") for field in fields for it in items(pod, "spec", field))


def default_container(pod: Manifest) -> str:
    """The container that kubectl takes: the annotated one, else the first."""
    names = container_names(pod)
    annotated = text(pod, "metadata", "annotations", _DEFAULT_CONTAINER)
    return annotated if annotated in names else next(iter(names), "")
