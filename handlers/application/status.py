"""`Application.status` as a value, field for field as Argo CD has it, and its conditions. Pure.

So `kubectl get applications`, dashboards and scripts work unchanged. Times are RFC 3339 in UTC, as
text.

Conditions say what a person should know beside sync and health. Every writer owns some types: it
gives all conditions of them that hold now, and a condition that it does not give any more is
removed. A condition whose message stays the same keeps its time, so that nothing is written for it
and `lastTransitionTime` says since when.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from bus.identity import ResourceKey
from bus.status import ConditionType
from handlers.application.spec import (
    Destination,
    IgnoreDifference,
    InitiatedBy,
    ManagedNamespaceMetadata,
    Operation,
    ResourceValue,
    Source,
    SourceHydrator,
)


class ComparedTo(ResourceValue, frozen=True, kw_only=True):
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    destination: Destination = Destination()
    ignore_differences: tuple[IgnoreDifference, ...] = ()


class SyncState(ResourceValue, frozen=True, kw_only=True):
    status: str = ""
    revision: str = ""
    revisions: tuple[str, ...] = ()
    """One for each of `spec.sources`; `revision` is empty then, here as below."""
    compared_to: ComparedTo | None = None


class HealthState(ResourceValue, frozen=True, kw_only=True):
    status: str = ""
    message: str = ""
    last_transition_time: str = ""


class ResourceStatus(ResourceValue, frozen=True, kw_only=True):
    """One object of the application, sorted by group, kind, namespace, name."""

    group: str = ""
    version: str = ""
    kind: str
    namespace: str = ""
    name: str
    status: str = ""
    health: HealthState | None = None
    hook: bool = False
    requires_pruning: bool = False
    requires_deletion_confirmation: bool = False
    sync_wave: int = 0

    @property
    def key(self) -> ResourceKey:
        """The object that it is about."""
        return ResourceKey(self.group, self.kind, self.namespace, self.name)


class Condition(ResourceValue, frozen=True, kw_only=True):
    type: str
    message: str
    last_transition_time: str = ""


class ResourceResult(ResourceValue, frozen=True, kw_only=True):
    """What one operation did to one object."""

    group: str = ""
    version: str = ""
    kind: str
    namespace: str = ""
    name: str
    status: str = ""
    message: str = ""
    hook_type: str = ""
    hook_phase: str = ""
    sync_phase: str = ""

    @property
    def key(self) -> ResourceKey:
        """The object that it is about."""
        return ResourceKey(self.group, self.kind, self.namespace, self.name)


class SyncResult(ResourceValue, frozen=True, kw_only=True):
    revision: str = msgspec.field(default_factory=str)
    """Written also where it is empty: the schema of Argo CD demands it."""
    revisions: tuple[str, ...] = ()
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    managed_namespace_metadata: ManagedNamespaceMetadata | None = None
    resources: tuple[ResourceResult, ...] = ()
    resources_total: int = 0
    """How many results there are, where `resources` has no room for all."""


class OperationState(ResourceValue, frozen=True, kw_only=True):
    operation: Operation = Operation()
    phase: str = ""
    message: str = ""
    sync_result: SyncResult | None = None
    started_at: str = ""
    finished_at: str = ""
    """Set while `phase` is Running: waiting to retry."""
    retry_count: int = 0


class RevisionHistory(ResourceValue, frozen=True, kw_only=True):
    id: int
    revision: str = ""
    revisions: tuple[str, ...] = ()
    source: Source | None = None
    sources: tuple[Source, ...] = ()
    deploy_started_at: str = ""
    deployed_at: str = ""
    initiated_by: InitiatedBy = InitiatedBy()


class Summary(ResourceValue, frozen=True, kw_only=True):
    external_urls: tuple[str, ...] = msgspec.field(name="externalURLs", default=())
    images: tuple[str, ...] = ()


class HydrateOperation(ResourceValue, frozen=True, kw_only=True):
    """One attempt to write the manifests of a dry commit to the branch."""

    started_at: str = ""
    """Of several attempts that failed alike, when the first one began."""
    finished_at: str = ""
    phase: str = ""
    """`Hydrated` or `Failed`."""
    message: str = ""
    dry_sha: str = msgspec.field(name="drySHA", default="")
    hydrated_sha: str = msgspec.field(name="hydratedSHA", default="")
    source_hydrator: SourceHydrator = SourceHydrator()


class SuccessfulHydrateOperation(ResourceValue, frozen=True, kw_only=True):
    dry_sha: str = msgspec.field(name="drySHA", default="")
    hydrated_sha: str = msgspec.field(name="hydratedSHA", default="")
    source_hydrator: SourceHydrator = SourceHydrator()


class SourceHydratorStatus(ResourceValue, frozen=True, kw_only=True):
    current_operation: HydrateOperation | None = None
    last_successful_operation: SuccessfulHydrateOperation | None = None


class ApplicationStatus(ResourceValue, frozen=True, kw_only=True):
    sync: SyncState = SyncState()
    health: HealthState = HealthState()
    resources: tuple[ResourceStatus, ...] = ()
    resources_total: int = 0
    """How many objects there are, where `resources` has no room for all."""
    conditions: tuple[Condition, ...] = ()
    operation_state: OperationState | None = None
    history: tuple[RevisionHistory, ...] = ()
    """Oldest first."""
    summary: Summary = Summary()
    source_hydrator: SourceHydratorStatus = SourceHydratorStatus()
    reconciled_at: str = ""
    source_type: str = ""
    source_types: tuple[str, ...] = ()
    """One for each of `spec.sources`, empty for a source that renders nothing."""
    resource_health_source: str = ""
    controller_namespace: str = ""


Conditions = tuple[Condition, ...]

BLOCKING = frozenset({ConditionType.COMPARISON_ERROR, ConditionType.INVALID_SPEC_ERROR})
"""With one of these the desired state is not known, so nothing is synced automatically."""


def revised(
    before: Sequence[Condition],
    owned: Collection[ConditionType],
    found: Iterable[Condition],
    now: str,
) -> Conditions:
    """Replace the conditions of the `owned` types by `found`; the others stay untouched."""
    since = {(one.type, one.message): one.last_transition_time for one in before}
    kept = [one for one in before if one.type not in owned]
    timed = [
        msgspec.structs.replace(one, last_transition_time=since.get((one.type, one.message)) or now)
        for one in found
    ]
    unique = {(one.type, one.message): one for one in (*kept, *timed)}
    return tuple(unique[key] for key in sorted(unique))


def without(before: Sequence[Condition], types: Collection[ConditionType]) -> Conditions:
    return revised(before, types, (), "")


def of_type(conditions: Iterable[Condition], type_: ConditionType) -> Conditions:
    return tuple(one for one in conditions if one.type == type_)


def blocking(conditions: Iterable[Condition]) -> Conditions:
    return tuple(one for one in conditions if one.type in BLOCKING)
