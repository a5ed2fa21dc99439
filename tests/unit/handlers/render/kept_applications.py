"""What the handlers need of a cluster: Applications kept by the real store over a table instead
of an API server, and the kinds that a destination serves. Git and the sandbox are real.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from agent.store.applications import Applications
from bus.identity import AppKey
from handlers.application.application import REFRESH_ANNOTATION
from handlers.manifest.kinds import KindInfo
from handlers.ports import LiveObject

NAMESPACE = "argocd"
SERVED = (
    ("", "v1", "ConfigMap", True),
    ("", "v1", "Namespace", False),
    ("", "v1", "Service", True),
    ("apps", "v1", "Deployment", True),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition", False),
)


class ApplicationTable:
    """Applications as an API server keeps them; counts the writes."""

    def __init__(self) -> None:
        self.objects: dict[AppKey, dict[str, Any]] = {}
        self.writes = 0

    async def patch_application(self, key: AppKey, patch: Mapping[str, Any]) -> bytes:
        self.writes += 1
        self.objects[key] = _merged(self.objects[key], patch)
        return self.stored(key)

    def stored(self, key: AppKey) -> bytes:
        metadata = self.objects[key]["metadata"]
        metadata["resourceVersion"] = str(int(metadata.get("resourceVersion", "0")) + 1)
        return msgspec.json.encode(self.objects[key])


class RenderCluster:
    """The store of Applications, fed by hand."""

    def __init__(self) -> None:
        self.table = ApplicationTable()
        self.apps = Applications(self.table)

    def add(self, name: str, url: str, source: dict[str, Any]) -> AppKey:
        key = AppKey(NAMESPACE, name)
        self.table.objects[key] = {
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": name},
            "spec": {
                "project": "default",
                "source": {"repoURL": url, "targetRevision": "main"} | source,
                "destination": {"server": "https://kubernetes.default.svc", "namespace": "shop"},
            },
        }
        self.apps.put_application(self.table.stored(key))
        return key

    def change(self, key: AppKey, patch: dict[str, Any]) -> None:
        self.table.objects[key] = _merged(self.table.objects[key], patch)
        self.apps.put_application(self.table.stored(key))

    def ask_refresh(self, key: AppKey, how: str) -> None:
        self.change(key, {"metadata": {"annotations": {REFRESH_ANNOTATION: how}}})

    def status(self, key: AppKey) -> dict[str, Any]:
        found: dict[str, Any] = self.table.objects[key].get("status", {})
        return found

    def conditions(self, key: AppKey) -> dict[str, str]:
        return {one["type"]: one["message"] for one in self.status(key).get("conditions", ())}


class ServedKindsTable:
    """handlers.ports.LiveState of an empty cluster."""

    def get(self, key: object) -> LiveObject | None:
        return None

    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        return ()

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]:
        return ()

    def kind(self, group: str, kind: str) -> KindInfo | None:
        for known, version, name, namespaced in SERVED:
            if (known, name) == (group, kind):
                return KindInfo(
                    group=group,
                    version=version,
                    kind=kind,
                    plural=f"{kind.lower()}s",
                    namespaced=namespaced,
                )
        return None

    def coverage_gap(self, key: object) -> str:
        return ""

    def kube_version(self) -> str:
        return "v1.36.3"

    def api_versions(self) -> tuple[str, ...]:
        return ("v1", "apps/v1", "apps/v1/Deployment", "apps/v1beta1/Deployment")


class NoonClock:
    """A clock that stands, until somebody moves it."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def _merged(target: Any, patch: Mapping[str, Any]) -> dict[str, Any]:
    """RFC 7396."""
    merged: dict[str, Any] = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value) if isinstance(value, dict) else value
    return merged
