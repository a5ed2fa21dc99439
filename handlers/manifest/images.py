"""The container images an object names: of a Pod, or of the pod template of a workload."""

from __future__ import annotations

from handlers.manifest.access import Manifest, items, mapping, text

_POD_SPECS = (
    ("spec",),
    ("spec", "template", "spec"),
    ("spec", "jobTemplate", "spec", "template", "spec"),
)
_LISTS = ("initContainers", "containers", "ephemeralContainers")


def images(manifest: Manifest) -> tuple[str, ...]:
    """Sorted, each once."""
    found = {
        text(container, "image")
        for path in _POD_SPECS
        for containers in _LISTS
        for container in items(mapping(manifest, *path), containers)
    }
    return tuple(sorted(found - {""}))
