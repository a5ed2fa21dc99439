"""States, in the field's own spelling: Argo CD's where it has a word, so that scripts work on."""

from __future__ import annotations

from enum import StrEnum


class SyncStatus(StrEnum):
    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    UNKNOWN = "Unknown"


class HealthStatus(StrEnum):
    HEALTHY = "Healthy"
    SUSPENDED = "Suspended"
    PROGRESSING = "Progressing"
    MISSING = "Missing"
    DEGRADED = "Degraded"
    UNKNOWN = "Unknown"


class OperationPhase(StrEnum):
    RUNNING = "Running"
    TERMINATING = "Terminating"
    FAILED = "Failed"
    ERROR = "Error"
    SUCCEEDED = "Succeeded"

    @property
    def completed(self) -> bool:
        return self in (OperationPhase.FAILED, OperationPhase.ERROR, OperationPhase.SUCCEEDED)


class OperationKind(StrEnum):
    """What an operation is for; empty where an agent before this word told of it."""

    SYNC = "sync"
    """A person asked for it."""
    AUTO_SYNC = "auto-sync"
    SELF_HEAL = "self-heal"
    ROLLBACK = "rollback"
    """Back to a revision that was deployed before the one that ran."""
    UNKNOWN = ""


class ResultStatus(StrEnum):
    """What became of one object in a sync."""

    SYNCED = "Synced"
    SYNC_FAILED = "SyncFailed"
    PRUNED = "Pruned"
    PRUNE_SKIPPED = "PruneSkipped"


class ConditionType(StrEnum):
    DELETION_ERROR = "DeletionError"
    INVALID_SPEC_ERROR = "InvalidSpecError"
    COMPARISON_ERROR = "ComparisonError"
    SYNC_ERROR = "SyncError"
    UNKNOWN_ERROR = "UnknownError"
    SHARED_RESOURCE_WARNING = "SharedResourceWarning"
    REPEATED_RESOURCE_WARNING = "RepeatedResourceWarning"
    EXCLUDED_RESOURCE_WARNING = "ExcludedResourceWarning"
    ORPHANED_RESOURCE_WARNING = "OrphanedResourceWarning"
    AUTO_SYNC_HELD_WARNING = "AutoSyncHeldWarning"
    """Ours: automated syncs wait for a person, because of something that is not acted on yet."""
    UNSUPPORTED_FIELD_WARNING = "UnsupportedFieldWarning"
    """Ours: the Application says something that this version does not act on yet."""


class Reason(StrEnum):
    """Why something did not happen; stable words for scripts, beside a sentence for people."""

    REPOSITORY_UNREACHABLE = "RepositoryUnreachable"
    DISK_FULL = "DiskFull"
    CREDENTIALS_REFUSED = "CredentialsRefused"
    REVISION_NOT_FOUND = "RevisionNotFound"
    PATH_NOT_FOUND = "PathNotFound"
    INVALID_SPEC = "InvalidSpec"
    YAML_INVALID = "YamlInvalid"
    TEMPLATE_FAILED = "TemplateFailed"
    KUSTOMIZE_FAILED = "KustomizeFailed"
    JSONNET_FAILED = "JsonnetFailed"
    REMOTE_BASE = "RemoteBase"
    OUTSIDE_REPOSITORY = "OutsideRepository"
    MISSING_DEPENDENCY = "MissingDependency"
    FILE_NOT_FOUND = "FileNotFound"
    MANIFEST_INVALID = "ManifestInvalid"
    DUPLICATE_OBJECT = "DuplicateObject"
    NAMESPACE_MISSING = "NamespaceMissing"
    UNKNOWN_KIND = "UnknownKind"
    NOT_PERMITTED = "NotPermitted"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    MEMORY_EXCEEDED = "MemoryExceeded"
    OUTPUT_TOO_LARGE = "OutputTooLarge"
    WORKER_DIED = "WorkerDied"
    EVALUATION_FAILED = "EvaluationFailed"
    CLUSTER_UNREACHABLE = "ClusterUnreachable"
    # why a sync was not started
    ALREADY_SYNCED = "AlreadySynced"
    AUTO_SYNC_OFF = "AutoSyncOff"
    AUTO_SYNC_HELD = "AutoSyncHeld"
    SELF_HEAL_OFF = "SelfHealOff"
    SELF_HEAL_BACK_OFF = "SelfHealBackOff"
    ONLY_PRUNE_NEEDED = "OnlyPruneNeeded"
    NOTHING_RENDERED = "NothingRendered"
    ALREADY_ATTEMPTED = "AlreadyAttempted"
    OPERATION_RUNNING = "OperationRunning"
    DELETING = "Deleting"
    CONDITIONS_BLOCK = "ConditionsBlock"
