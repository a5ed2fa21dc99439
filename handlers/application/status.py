"""What we found: `Application.status`, field for field as Argo CD has it.

So `kubectl get applications`, dashboards and scripts work unchanged. Times are RFC 3339 in UTC, as
text.
"""

from __future__ import annotations

from handlers.application.spec import (
    Destination,
    IgnoreDifference,
    InitiatedBy,
    Operation,
    Source,
    Value,
)


class ComparedTo(Value, frozen=True, kw_only=True):
    source: Source | None = None
    destination: Destination = Destination()
    ignore_differences: tuple[IgnoreDifference, ...] = ()


class SyncState(Value, frozen=True, kw_only=True):
    status: str = ""
    revision: str = ""
    compared_to: ComparedTo | None = None


class HealthState(Value, frozen=True, kw_only=True):
    status: str = ""
    message: str = ""
    last_transition_time: str = ""


class ResourceStatus(Value, frozen=True, kw_only=True):
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
    sync_wave: int = 0


class Condition(Value, frozen=True, kw_only=True):
    type: str
    message: str
    last_transition_time: str = ""


class ResourceResult(Value, frozen=True, kw_only=True):
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


class SyncResult(Value, frozen=True, kw_only=True):
    revision: str = ""
    source: Source | None = None
    resources: tuple[ResourceResult, ...] = ()


class OperationState(Value, frozen=True, kw_only=True):
    operation: Operation = Operation()
    phase: str = ""
    message: str = ""
    sync_result: SyncResult | None = None
    started_at: str = ""
    finished_at: str = ""
    """Set while `phase` is Running: waiting to retry."""
    retry_count: int = 0


class RevisionHistory(Value, frozen=True, kw_only=True):
    id: int
    revision: str = ""
    source: Source | None = None
    deploy_started_at: str = ""
    deployed_at: str = ""
    initiated_by: InitiatedBy = InitiatedBy()


class Summary(Value, frozen=True, kw_only=True):
    external_urls: tuple[str, ...] = ()
    images: tuple[str, ...] = ()


class ApplicationStatus(Value, frozen=True, kw_only=True):
    sync: SyncState = SyncState()
    health: HealthState = HealthState()
    resources: tuple[ResourceStatus, ...] = ()
    conditions: tuple[Condition, ...] = ()
    operation_state: OperationState | None = None
    history: tuple[RevisionHistory, ...] = ()
    """Oldest first."""
    summary: Summary = Summary()
    reconciled_at: str = ""
    source_type: str = ""
    resource_health_source: str = ""
    controller_namespace: str = ""
