"""The ports of the destination clusters: the watched index of the objects, and writes."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from bus.identity import AppKey, ResourceKey
from bus.status import HealthStatus
from handlers.application.destination import DestinationCluster, RegisteredCluster
from handlers.application.impersonation import ActingUser
from handlers.application.spec import Destination
from handlers.manifest.access import Manifest
from handlers.manifest.kinds import KindInfo
from handlers.manifest.pods import PodState
from handlers.manifest.symptom import Symptom
from handlers.manifest.tracking import TrackingId


class LiveObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of the cluster as the index keeps it: a summary, and its bytes for roots only."""

    key: ResourceKey
    version: str
    uid: str
    resource_version: str
    tracking: str = ""
    """The tracking id, as the tracking method of the installation reads it from the object."""
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
    """Likewise of the tools that applied the object before us and were not taken over."""
    written_by: str = ""
    """The field manager that wrote after our last apply; empty where nobody did."""
    written: bytes = b""
    """fieldsV1 (JSON) of that manager."""
    pod: PodState | None = None
    """The state of a Pod that runs, or is about to; None for other objects."""
    symptom: Symptom | None = None
    """Why the object is not healthy, from its own status."""

    @property
    def application(self) -> str:
        """The identity of the application whose own object this is; empty for none.

        A tracking id that names another object was copied by an operator, and counts for nothing.
        """
        tracked = TrackingId.parse(self.tracking) if self.tracking else None
        return tracked.app if tracked is not None and tracked.names(self.key) else ""

    @property
    def manifest(self) -> Manifest:
        """Decoded anew at each call: keep it, do not call it twice."""
        decoded: dict[str, Any] = msgspec.json.decode(self.body)
        return decoded


class LiveState(Protocol):
    """The watched index of the destination cluster."""

    def get(self, key: ResourceKey) -> LiveObject | None: ...
    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]:
        """The objects that are tracked as those of `app`."""
        ...

    def roots_in(self, namespace: str) -> tuple[LiveObject, ...]:
        """The objects of a namespace that have no owner, whoever's they are."""
        ...

    def owned_by(self, uid: str) -> tuple[LiveObject, ...]: ...
    def kind(self, group: str, kind: str) -> KindInfo | None: ...
    def coverage_gap(self, key: ResourceKey) -> str:
        """Say why an object of this kind and place cannot be seen, and the remedy.

        Empty where the object can be seen, and where the cluster does not serve its kind. Only then
        does its absence mean that it is gone.
        """
        ...

    def kube_version(self) -> str: ...
    def api_versions(self) -> tuple[str, ...]: ...


class ApplyOptions(msgspec.Struct, frozen=True, kw_only=True):
    dry_run: bool = False
    force_conflicts: bool = True
    replace: bool = False
    validate: bool = True
    take_over: bool = True
    """Take over the fields that kubectl, Helm or Argo CD applied before."""
    earlier_manager: str = ""
    """Likewise those of this manager."""


class ClusterWriter(Protocol):
    """Writes to the destination cluster. All raise ApplyRefusedError or ClusterUnreachableError.

    What the API server answers goes into the index before the call returns.
    """

    async def apply(self, manifest: Manifest, options: ApplyOptions) -> LiveObject: ...
    async def delete(
        self, live: LiveObject, *, propagation: str = "foreground", at_once: bool = False
    ) -> None:
        """Delete exactly this object (by UID); an absent one is no error.

        `at_once`: without the time that its processes are given to end.
        """
        ...

    async def remove_finalizer(self, live: LiveObject, finalizer: str) -> None:
        """Take one finalizer off exactly this object (by UID); an absent one is no error."""
        ...

    async def read(self, live: LiveObject, version: str) -> LiveObject:
        """Read the object in another version of its kind: the index has only one."""
        ...

    async def managed_fields(self, live: LiveObject) -> tuple[Manifest, ...]:
        """Read the entries of `metadata.managedFields`, which the index does not keep."""
        ...

    async def refresh_kinds(self) -> None:
        """Look at discovery again: a CRD was just applied."""
        ...


class DestinationSession(Protocol):
    """One destination cluster in use: its live objects, and the way to write to it."""

    @property
    def registered(self) -> RegisteredCluster: ...
    @property
    def cluster(self) -> DestinationCluster:
        """The cluster with its server and its name."""
        ...

    @property
    def may_be_own(self) -> bool:
        """Whether this is, for all that is known, the cluster that the agent runs in."""
        ...

    @property
    def cluster_uid(self) -> str:
        """The UID of the cluster's namespace kube-system; empty where it is not known."""
        ...

    @property
    def live(self) -> LiveState: ...
    def writer_as(self, user: ActingUser) -> ClusterWriter:
        """Return a writer that acts as this user; with a problem one that refuses everything."""
        ...


class Clusters(Protocol):
    """The clusters that Applications may name, and the sessions of those that they do name."""

    def registered(self, destination: Destination) -> RegisteredCluster:
        """Find the cluster, connected or not. Raises DestinationUnknownError."""
        ...

    def of(self, destination: Destination) -> DestinationSession:
        """Return a session that works; it is closed some time after its last Application.

        Raises DestinationUnknownError, and DestinationUnavailableError while there is no contact.
        """
        ...
