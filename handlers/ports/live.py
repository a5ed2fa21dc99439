"""Live state: the watched index of the destination cluster, and an object as it keeps it."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from bus.identity import AppKey, ResourceKey
from bus.status import HealthStatus
from handlers.manifest.access import Manifest
from handlers.manifest.kinds import KindInfo
from handlers.manifest.pods import PodState
from handlers.manifest.symptom import Symptom


class LiveObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of the cluster as the index keeps it: a summary, and its bytes for roots only."""

    key: ResourceKey
    version: str
    uid: str
    resource_version: str
    tracking: str = ""
    """The tracking annotation's value."""
    owners: tuple[str, ...] = ()
    """UIDs of owner references."""
    health: HealthStatus | None = None
    """None: this kind has no health."""
    health_message: str = ""
    deleting: bool = False
    fingerprint: str = ""
    """Of the content without status and volatile metadata: equal content, equal fingerprint."""
    body: bytes = b""
    """JSON without managedFields; empty for objects that no application tracks."""
    owned: bytes = b""
    """fieldsV1 (JSON) of our own field manager; empty when we never applied it."""
    inherited: bytes = b""
    """Likewise of the tools that applied it before us, as far as we did not take it over."""
    written_by: str = ""
    """The field manager that wrote after our last apply; empty where nobody did."""
    pod: PodState | None = None
    """Of a pod that runs, or is about to."""
    symptom: Symptom | None = None
    """What an object that is not healthy says of itself."""

    @property
    def manifest(self) -> Manifest:
        """Decoded anew at each call: keep it, do not call it twice."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


class LiveState(Protocol):
    """The watched index of the destination cluster."""

    def get(self, key: ResourceKey) -> LiveObject | None: ...
    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        """Objects whose tracking annotation names `app` and themselves."""
        ...

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]: ...
    def kind(self, group: str, kind: str) -> KindInfo | None: ...
    def kube_version(self) -> str: ...
    def api_versions(self) -> tuple[str, ...]: ...
