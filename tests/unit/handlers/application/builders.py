"""Applications and projects for tests, read from JSON as the cluster would give them."""

from __future__ import annotations

from typing import Any

import msgspec

from handlers.application.application import (
    Application,
    AppProject,
    read_application,
    read_project,
)

REPO = "https://git.example/shop.git"
SERVER = "https://kubernetes.default.svc"


def application(spec: dict[str, Any] | None = None, **parts: Any) -> Application:
    """A valid application of three lines; `spec` is laid over it, None removes a field."""
    whole: dict[str, Any] = {
        "project": "default",
        "source": {"repoURL": REPO, "path": "web", "targetRevision": "main"},
        "destination": {"server": SERVER, "namespace": "shop"},
    } | (spec or {})
    whole = {key: value for key, value in whole.items() if value is not None}
    metadata = {"name": "web", "namespace": "argocd", "uid": "u1"} | parts.pop("metadata", {})
    return read_application(msgspec.json.encode({"metadata": metadata, "spec": whole, **parts}))


def project(spec: dict[str, Any] | None = None) -> AppProject:
    """A project that permits everything but what `spec` says."""
    open_: dict[str, Any] = {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    }
    metadata = {"name": "default", "namespace": "argocd"}
    return read_project(msgspec.json.encode({"metadata": metadata, "spec": open_ | (spec or {})}))
