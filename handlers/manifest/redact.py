"""Secrets among Kubernetes objects: which object is one, and where its values are written again."""

from __future__ import annotations

from handlers.manifest.access import Manifest, group, kind

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def is_secret(manifest: Manifest) -> bool:
    return kind(manifest) == "Secret" and group(manifest) == ""
