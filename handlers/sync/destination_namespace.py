"""DestinationNamespace: the Namespace of the destination, for `CreateNamespace=true`. Pure.

It comes before everything else, and is not tracked, so it is neither compared nor pruned. With
`managedNamespaceMetadata` it is applied at each sync with exactly the labels and annotations that
are listed, so that we own these alone: a key that is taken off the list goes, and what others wrote
stays, also where it conflicts. A Namespace that is part of an application has its metadata in Git
and is left alone. Who may create a Namespace may not lower its Pod security: labels of that domain
need a project that permits Namespaces. Nor may he give it to another application: marks of tracking
are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from bus.identity import ResourceKey
from bus.status import ResultStatus
from handlers.application.application import Application
from handlers.application.namespace_marks import without_marks
from handlers.application.policy import namespace_metadata
from handlers.application.spec import ManagedNamespaceMetadata
from handlers.application.status import ResourceResult
from handlers.comparison.comparison import Comparison
from handlers.manifest.access import Manifest
from handlers.manifest.options import SyncOptions
from handlers.manifest.tracking_method import Tracking
from handlers.ports import LiveObject, LiveState
from handlers.sync.operation_results import result
from handlers.sync.sync_plan import SyncAction, SyncPhase, SyncTask
from handlers.sync.sync_work import SyncWork

_POD_SECURITY = "pod-security.kubernetes.io/"


class DestinationNamespace(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    live: LiveObject | None = None
    may_write: bool = True
    """Whether the policy of the cluster's owner lets the operation write the Namespace."""
    metadata: ManagedNamespaceMetadata | None = None
    denied: str = ""
    """Why the metadata may not be written; empty where it may."""

    @property
    def owner(self) -> str:
        """The application that the live Namespace is part of; empty for none."""
        return self.live.application if self.live else ""


def sets_pod_security(metadata: ManagedNamespaceMetadata) -> bool:
    """Whether a label decides which Pods the Namespace admits."""
    return any(key.startswith(_POD_SECURITY) for key in metadata.labels)


def destination_namespace(
    app: Application,
    options: SyncOptions,
    live: LiveState,
    *,
    may_write: bool,
    tracking: Tracking,
    denied: str = "",
) -> DestinationNamespace:
    name = app.spec.destination.namespace
    listed = namespace_metadata(app, options)
    return DestinationNamespace(
        name=name,
        live=live.get(namespace_key(name)),
        may_write=may_write,
        metadata=without_marks(listed, tracking) if listed is not None else None,
        denied=denied,
    )


def namespace_work(
    space: DestinationNamespace, comparison: Comparison, options: SyncOptions
) -> SyncWork:
    return SyncWork(
        tasks=tuple(namespace_task(space, comparison, options)),
        settled=tuple(_left_alone(space, comparison, options)),
    )


def namespace_key(name: str) -> ResourceKey:
    return ResourceKey("", "Namespace", "", name)


def namespace_task(
    space: DestinationNamespace, comparison: Comparison, options: SyncOptions
) -> Iterator[SyncTask]:
    """Make the task that creates the Namespace or applies its metadata, if either is due."""
    if not _is_due(space, comparison, options) or space.owner or space.denied:
        return
    if space.live is not None and space.metadata is None:
        return
    yield _task(space)


def _left_alone(
    space: DestinationNamespace, comparison: Comparison, options: SyncOptions
) -> Iterator[ResourceResult]:
    """Say why the metadata is not applied: another application's Namespace, or not permitted."""
    due = _is_due(space, comparison, options) and space.metadata is not None
    if due and space.denied:
        yield result(_task(space), ResultStatus.SYNC_FAILED, space.denied)
    elif due and space.owner:
        message = (
            f"left as it is: the Namespace is part of the application {space.owner!r}, which has"
            " its labels and annotations in Git"
        )
        yield result(_task(space), ResultStatus.SYNCED, message)


def _is_due(space: DestinationNamespace, comparison: Comparison, options: SyncOptions) -> bool:
    key = namespace_key(space.name)
    written = any(one.key == key and one.desired is not None for one in comparison.pairs)
    return bool(options.create_namespace and space.name and space.may_write and not written)


def _task(space: DestinationNamespace) -> SyncTask:
    return SyncTask(
        action=SyncAction.APPLY,
        key=namespace_key(space.name),
        version="v1",
        manifest=_manifest(space),
        phase=SyncPhase.PRE_SYNC,
        yields=True,
    )


def _manifest(space: DestinationNamespace) -> Manifest:
    listed = space.metadata or ManagedNamespaceMetadata()
    fields = {"labels": listed.labels, "annotations": listed.annotations}
    metadata = {"name": space.name, **{name: one for name, one in fields.items() if one}}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
