"""Answers of the service, generated from its OpenAPI document by `make docs`.

A field that an answer lacks takes the empty value of its type; unknown fields are let pass.
"""

from __future__ import annotations

from typing import Any

import msgspec


class ServiceAnswer(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Base of the answers: their JSON has names in camelCase."""


class AgentComponent(ServiceAnswer, frozen=True, kw_only=True):
    """A part that an agent needs: NATS, the API server."""

    name: str = ""
    status: str = ""
    message: str = ""
    version: str = ""


class AgentPolicy(ServiceAnswer, frozen=True, kw_only=True):
    """What the owner of a cluster lets this control plane do there, as its agent reported it.

    An agent that has not connected reports nothing, and an older one leaves fields out.
    """

    kinds: tuple[str, ...] | None = None
    namespaces: tuple[str, ...] | None = None
    object_kinds: tuple[str, ...] | None = None
    cluster_scoped: bool | None = None
    override: bool | None = None
    override_window: bool | None = None
    exec: bool | None = None
    max_per_minute: int | None = None
    max_reads_per_minute: int | None = None
    read_only: bool | None = None
    config_maps: tuple[str, ...] | None = None
    problem: str | None = None


class DeletionHold(ServiceAnswer, frozen=True, kw_only=True):
    """So many objects are missing at once that nobody believes it yet."""

    kinds: dict[str, int] = {}
    since: str = ""


class QuarantinedEpoch(ServiceAnswer, frozen=True, kw_only=True):
    """A new life of the agent's outbox that is not believed yet."""

    epoch: str = ""
    reason: str = ""
    since: str = ""


class AgentSummary(ServiceAnswer, frozen=True, kw_only=True):
    id: str
    name: str
    environment: str = ""
    region: str = ""
    labels: dict[str, str] = {}
    organisation: str | None = None
    project: str | None = None
    status: str = ""
    heard_at: str | None = None
    connected_at: str | None = None
    round_trip_ms: int | None = None
    clock_skew_ms: int | None = None
    version: str = ""
    upgrade_available: str | None = None
    capabilities: tuple[str, ...] = ()
    allowed: AgentPolicy = AgentPolicy()
    components: tuple[AgentComponent, ...] = ()
    roots_in_step: bool | None = None
    roots_at: str | None = None
    applications: int = 0
    quarantined: QuarantinedEpoch | None = None
    deletions: DeletionHold | None = None
    rebuilding_since: str | None = None
    edition: int = 0


class ReportingAgent(ServiceAnswer, frozen=True, kw_only=True):
    """The agent that reports an object."""

    id: str = ""
    name: str = ""


class AppProjectDetail(ServiceAnswer, frozen=True, kw_only=True):
    """`version` is what If-Match takes; it changes with spec, labels and annotations."""

    id: str
    agent: ReportingAgent = ReportingAgent()
    environment: str = ""
    region: str = ""
    namespace: str = ""
    name: str
    description: str = ""
    applications: int = 0
    as_of: str = ""
    version: str = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    spec: dict[str, Any] = {}


class ApplicationAgent(ServiceAnswer, frozen=True, kw_only=True):
    id: str = ""
    name: str = ""
    status: str = ""


class ApplicationCause(ServiceAnswer, frozen=True, kw_only=True):
    """The deepest ill object: `object` is `group/kind/namespace/name`."""

    object: str = ""
    health: str = ""
    reason: str = ""
    message: str = ""
    since: str = ""


class ApplicationCondition(ServiceAnswer, frozen=True, kw_only=True):
    type: str = ""
    message: str = ""
    since: str = ""


class ApplicationSyncFailure(ServiceAnswer, frozen=True, kw_only=True):
    """A sync that failed; `retrying`: the agent tries it again."""

    object: str = ""
    message: str = ""
    revision: str = ""
    since: str = ""
    retries: int = 0
    retrying: bool = False


class CommitInfo(ServiceAnswer, frozen=True, kw_only=True):
    """Empty where it is not known; `message` is the first line, `author` a name."""

    id: str = ""
    author: str = ""
    message: str = ""
    time: str = ""


class DesiredRevision(ServiceAnswer, frozen=True, kw_only=True):
    """What `targetRevision` means now, with the commit of that revision."""

    revision: str = ""
    commit: CommitInfo = CommitInfo()


class RunningDeployment(ServiceAnswer, frozen=True, kw_only=True):
    """The deployment that runs; `rolledBack` while it is an earlier one than Git wants.

    `commit` is the running revision's own. `by` is a name, or `automated`.
    """

    revision: str = ""
    commit: CommitInfo = CommitInfo()
    since: str | None = None
    by: str = ""
    rolled_back: bool = False


class ApplicationDetail(ServiceAnswer, frozen=True, kw_only=True):
    """`version` is what If-Match takes; a change of the status leaves it equal."""

    id: str
    agent: ApplicationAgent = ApplicationAgent()
    namespace: str = ""
    name: str
    project: str = ""
    environment: str = ""
    region: str = ""
    service: str = ""
    labels: dict[str, str] = {}
    repository: str = ""
    path: str = ""
    target_revision: str = ""
    revision: str = ""
    running: RunningDeployment = RunningDeployment()
    wanted: DesiredRevision = DesiredRevision()
    sync: str = ""
    sync_failure: ApplicationSyncFailure | None = None
    attention: str = ""
    health: str = ""
    cause: ApplicationCause | None = None
    health_message: str = ""
    phase: str = ""
    automated: bool = False
    images: tuple[str, ...] = ()
    conditions: tuple[ApplicationCondition, ...] = ()
    sync_since: str | None = None
    health_since: str | None = None
    as_of: str = ""
    suspect: bool = False
    version: str = ""
    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}
    annotations: dict[str, str] = {}


class AuditRecord(ServiceAnswer, frozen=True, kw_only=True):
    sequence: int
    id: str
    time: str = ""
    actor: str = ""
    address: str = ""
    action: str = ""
    resource: str = ""
    project: str = ""
    decision: str = ""
    outcome: str = ""
    source: str = ""
    detail: dict[str, Any] = {}
    hash: str = ""


class AuditVerification(ServiceAnswer, frozen=True, kw_only=True):
    ok: bool = False
    entries: int = 0
    head: str = ""
    signed: bool = False
    anchors: int = 0
    trimmed: int = 0
    broken_at: int | None = None
    reason: str = ""


class ConnectionSummary(ServiceAnswer, frozen=True, kw_only=True):
    """`subType` to `expiresAt` are of certificates, known hosts and keys; empty where unknown."""

    id: str
    agent: ReportingAgent = ReportingAgent()
    name: str
    url: str = ""
    type: str = ""
    sub_type: str = ""
    fingerprint: str = ""
    info: str = ""
    expires_at: str = ""
    project: str = ""
    version: str = ""
    status: str = ""
    message: str = ""
    attempted_at: str = ""
    contact_at: str = ""
    server_version: str = ""
    objects: int = 0
    applications: int = 0
    as_of: str = ""


class DeploymentEntry(ServiceAnswer, frozen=True, kw_only=True):
    id: int
    revision: str = ""
    revisions: tuple[str, ...] = ()
    deployed_at: str = ""
    initiated_by: str = ""
    kind: str = ""
    author: str = ""
    message: str = ""
    seconds: float = 0.0


class DriftField(ServiceAnswer, frozen=True, kw_only=True):
    """Values do not leave the cluster."""

    path: str = ""


class DriftEntry(ServiceAnswer, frozen=True, kw_only=True):
    """`actor`: the field manager that wrote, where it is known."""

    id: str
    agent: str = ""
    agent_name: str = ""
    application: str = ""
    subject: str = ""
    project: str = ""
    environment: str = ""
    region: str = ""
    object: str = ""
    fields: tuple[DriftField, ...] = ()
    actor: str = ""
    began_at: str = ""
    ended_at: str | None = None
    ended_how: str = ""
    seconds: float = 0.0


class FieldChange(ServiceAnswer, frozen=True, kw_only=True):
    """A field whose desired and live value differ; null where a side has none."""

    path: str = ""
    desired: Any = None
    live: Any = None


class ObjectDiff(ServiceAnswer, frozen=True, kw_only=True):
    """An object that differs; `desired` or `live` is null where only the other exists."""

    key: str
    modified: bool = False
    desired: dict[str, Any] | None = None
    live: dict[str, Any] | None = None
    changes: tuple[FieldChange, ...] = ()


class TaskSummary(ServiceAnswer, frozen=True, kw_only=True):
    id: str
    kind: str = ""
    subject: str = ""
    agent: str = ""
    project: str = ""
    actor: str = ""
    phase: str = ""
    code: str = ""
    message: str = ""
    progress: dict[str, Any] = {}
    result: Any = None
    created_at: str = ""
    started_at: str | None = None
    finished_at: str | None = None


class TreeNode(ServiceAnswer, frozen=True, kw_only=True):
    """An object of the application; `parents` own it."""

    uid: str | None = None
    group: str = ""
    version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str
    health: str = ""
    health_message: str = ""
    sync: str = ""
    parents: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    created_at: str | None = None
    info: tuple[str, ...] = ()
    orphaned: bool | None = None
