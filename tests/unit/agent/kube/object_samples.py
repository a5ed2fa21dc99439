"""Objects as an API server sends them, for tests without one."""

from __future__ import annotations

from typing import Any

import orjson

from agent.kube.summary import summarise
from handlers.manifest.tracking import TRACKING_ID
from handlers.ports import LiveObject


def config_map(
    name: str = "settings",
    *,
    app: str = "shop",
    version: int = 10,
    uid: str = "",
    owner: str = "",
    data: dict[str, str] | None = None,
    namespace: str = "web",
) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "name": name,
        "namespace": namespace,
        "uid": uid or f"uid-{name}",
        "resourceVersion": str(version),
        "creationTimestamp": "2026-11-21T08:00:00Z",
    }
    if app:
        metadata["annotations"] = {TRACKING_ID: f"{app}:/ConfigMap:{namespace}/{name}"}
    if owner:
        reference = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": owner}
        metadata["ownerReferences"] = [reference]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": data or {"colour": "blue"},
    }


def live(name: str = "settings", **words: Any) -> LiveObject:
    return summarise(orjson.dumps(config_map(name, **words)))
