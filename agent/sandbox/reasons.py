"""Why an evaluation failed: the words of sandbox/reasons.go, and the house's words for them."""

from __future__ import annotations

from enum import StrEnum

from bus.status import Reason


class SandboxReason(StrEnum):
    """Mirror of sandbox/reasons.go; a test compares the two."""

    YAML_INVALID = "YamlInvalid"
    TEMPLATE_FAILED = "TemplateFailed"
    VALUES_INVALID = "ValuesInvalid"
    CHART_INVALID = "ChartInvalid"
    MISSING_DEPENDENCY = "MissingDependency"
    KUSTOMIZE_FAILED = "KustomizeFailed"
    REMOTE_BASE = "RemoteBase"
    REMOTE_FILE = "RemoteFile"
    OUTSIDE_REPOSITORY = "OutsideRepository"
    PATH_NOT_FOUND = "PathNotFound"
    FILE_NOT_FOUND = "FileNotFound"
    JSONNET_FAILED = "JsonnetFailed"
    LUA_FAILED = "LuaFailed"
    JQ_FAILED = "JqFailed"
    REGO_FAILED = "RegoFailed"
    SEMVER_INVALID = "SemverInvalid"
    GLOB_INVALID = "GlobInvalid"
    INPUT_TOO_LARGE = "InputTooLarge"
    OUTPUT_TOO_LARGE = "OutputTooLarge"
    MEMORY_EXCEEDED = "MemoryExceeded"
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    WORKER_DIED = "WorkerDied"
    WORKER_FAILED = "WorkerFailed"
    REQUEST_INVALID = "RequestInvalid"

    @property
    def reason(self) -> Reason:
        """The house's word for it; where it has none of its own, the nearest."""
        return _NEAREST.get(self) or Reason(self.value)


_NEAREST = {
    SandboxReason.VALUES_INVALID: Reason.TEMPLATE_FAILED,
    SandboxReason.CHART_INVALID: Reason.TEMPLATE_FAILED,
    SandboxReason.REMOTE_FILE: Reason.REMOTE_BASE,
    SandboxReason.GLOB_INVALID: Reason.INVALID_SPEC,
    SandboxReason.SEMVER_INVALID: Reason.INVALID_SPEC,
    SandboxReason.REQUEST_INVALID: Reason.INVALID_SPEC,
    SandboxReason.INPUT_TOO_LARGE: Reason.OUTPUT_TOO_LARGE,
    SandboxReason.LUA_FAILED: Reason.EVALUATION_FAILED,
    SandboxReason.JQ_FAILED: Reason.EVALUATION_FAILED,
    SandboxReason.REGO_FAILED: Reason.EVALUATION_FAILED,
    SandboxReason.WORKER_FAILED: Reason.EVALUATION_FAILED,
}


class SandboxError(Exception):
    """An evaluation failed; `file`, `document` (from 1) and `line` as far as they are known."""

    def __init__(
        self,
        reason: SandboxReason,
        message: str,
        *,
        file: str = "",
        document: int = 0,
        line: int = 0,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.file = file
        self.document = document
        self.line = line
