"""Applications with a hydrator, for tests."""

from __future__ import annotations

from typing import Any

from handlers.application.application import Application
from tests.unit.handlers.application.builders import application

DRY = "https://git.example/dry.git"


def hydrated(name: str = "web", *, age: int = 0, **hydrator: Any) -> Application:
    """An Application of main that is written to the branch env; `hydrator` is laid over it."""
    whole = {
        "drySource": {"repoURL": DRY, "path": "charts/web", "targetRevision": "main"},
        "syncSource": {"targetBranch": "env", "path": f"apps/{name}"},
    } | {key: value for key, value in hydrator.items() if key not in ("metadata", "spec", "status")}
    made = f"2026-01-01T00:00:{age:02}Z"
    metadata = {"name": name, "creationTimestamp": made} | hydrator.get("metadata", {})
    spec = {"source": None, "sourceHydrator": whole} | hydrator.get("spec", {})
    return application(spec, metadata=metadata, status=hydrator.get("status", {}))


def synced_from(**sync: Any) -> dict[str, Any]:
    return {"syncSource": {"targetBranch": "env", "path": "apps/web"} | sync}
