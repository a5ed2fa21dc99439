"""States are spelled as in Argo CD where it has the word, so that scripts keep working.

The cause of ill health is a value too, because facts and the link share it and people read the
same sentence everywhere: `Pod web-7d9-x2k: ImagePullBackOff: registry/web:9 not found`.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec


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
    """The purpose of an operation; empty in the reports of agents that predate this field."""

    SYNC = "sync"
    """A person asked for it."""
    AUTO_SYNC = "auto-sync"
    SELF_HEAL = "self-heal"
    ROLLBACK = "rollback"
    """Back to a revision that was deployed before the one that ran."""
    UNKNOWN = ""


class ResultStatus(StrEnum):
    """The result of one object in a sync."""

    SYNCED = "Synced"
    SYNC_FAILED = "SyncFailed"
    PRUNED = "Pruned"
    PRUNE_SKIPPED = "PruneSkipped"


class ConditionType(StrEnum):
    DELETION_ERROR = "DeletionError"
    INVALID_SPEC_ERROR = "InvalidSpecError"
    COMPARISON_ERROR = "ComparisonError"
    SYNC_ERROR = "SyncError"
    HYDRATION_ERROR = "HydrationError"
    """Ours: the manifests of a dry source are not committed; what is in the branch stays."""
    UNKNOWN_ERROR = "UnknownError"
    SHARED_RESOURCE_WARNING = "SharedResourceWarning"
    REPEATED_RESOURCE_WARNING = "RepeatedResourceWarning"
    EXCLUDED_RESOURCE_WARNING = "ExcludedResourceWarning"
    ORPHANED_RESOURCE_WARNING = "OrphanedResourceWarning"
    DELETION_CONFIRMATION_WARNING = "DeletionConfirmationWarning"
    """Ours: the deletion of the Application waits for a person's approval."""
    AUTO_SYNC_HELD_WARNING = "AutoSyncHeldWarning"
    """Ours: automated syncs wait for a person, because a field is not supported yet."""
    SYNC_WINDOW_WARNING = "SyncWindowWarning"
    """Ours: automated syncs wait for a sync window of the project to open or to end."""
    IGNORE_RULE_WARNING = "IgnoreRuleWarning"
    """Ours: a rule of ignoreDifferences has no effect, on all objects or on some."""
    PRUNE_HELD_WARNING = "PruneHeldWarning"
    """Ours: objects that Git no longer has stay, because their kind is not watched now."""
    UNSUPPORTED_FIELD_WARNING = "UnsupportedFieldWarning"
    """Ours: the Application has a field that this version does not act on yet."""


class Reason(StrEnum):
    """The cause of a failure or a skipped sync: a stable word for scripts, beside a sentence."""

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
    PLUGIN_NOT_FOUND = "PluginNotFound"
    PLUGIN_FAILED = "PluginFailed"
    CLUSTER_UNREACHABLE = "ClusterUnreachable"
    SOURCE_UNPROVEN = "SourceUnproven"
    DECRYPTION_FAILED = "DecryptionFailed"
    # why a sync was not started
    ALREADY_SYNCED = "AlreadySynced"
    AUTO_SYNC_OFF = "AutoSyncOff"
    AUTO_SYNC_HELD = "AutoSyncHeld"
    SYNC_WINDOW = "SyncWindow"
    SELF_HEAL_OFF = "SelfHealOff"
    SELF_HEAL_BACK_OFF = "SelfHealBackOff"
    ONLY_PRUNE_NEEDED = "OnlyPruneNeeded"
    NOTHING_RENDERED = "NothingRendered"
    ALREADY_ATTEMPTED = "AlreadyAttempted"
    OPERATION_RUNNING = "OperationRunning"
    DELETING = "Deleting"
    CONDITIONS_BLOCK = "ConditionsBlock"


class Cause(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why an application is not healthy."""

    object: str
    """`group/kind/namespace/name`."""
    health: HealthStatus
    """Of the object, not of its application."""
    reason: str = ""
    """One word of the cluster: `ImagePullBackOff`, `FailedScheduling`; empty where it has none."""
    message: str = ""
    since: str = ""
    """RFC 3339; empty where the cluster does not say."""
