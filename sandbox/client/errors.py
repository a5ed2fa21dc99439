"""Errors of the sandbox: an evaluation fails for a reason of its worker, or is not begun at all."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class SandboxReason(StrEnum):
    """Mirror of sandbox/worker/internal/wire/reasons.go; a test compares the two."""

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


class WantedChart(msgspec.Struct, frozen=True):
    """A chart that an evaluation lacks, as the chart that depends on it names it."""

    name: str
    repository: str
    version: str
    locked: bool = False


class WantedBase(msgspec.Struct, frozen=True):
    """A Git repository that an evaluation lacks, as a kustomization names it."""

    repository: str
    ref: str = ""


class SandboxError(Exception):
    """An evaluation failed; `file`, `document` (from 1) and `line` as far as they are known.

    `wanted` are the charts and repositories with which it could be tried again.
    """

    def __init__(
        self,
        reason: SandboxReason,
        message: str,
        *,
        file: str = "",
        document: int = 0,
        line: int = 0,
        wanted: tuple[WantedChart | WantedBase, ...] = (),
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.file = file
        self.document = document
        self.line = line
        self.wanted = wanted


class SandboxBusyError(Exception):
    """The sandbox has too much of this kind to do: the same call may succeed after a while."""

    def __init__(self, message: str, *, after: float) -> None:
        super().__init__(message)
        self.message = message
        self.after = after
        """Seconds."""
