"""The reason why an operation failed, in words for the person who must act. Pure."""

from __future__ import annotations

from bus.status import OperationPhase, ResultStatus
from handlers.application.status import ResourceResult
from handlers.sync.operation_results import Results
from handlers.sync.sync_plan import SyncPhase


def reason_of(failed: Results) -> str:
    """Say why an operation failed: by its first failure, and by the hooks that it failed for."""
    after = [one for one in failed if one.sync_phase == SyncPhase.SYNC_FAIL]
    before = [one for one in failed if one.sync_phase != SyncPhase.SYNC_FAIL]
    parts = [_reason(before)] if before else []
    if after:
        parts.append(f"one or more SyncFail hooks failed: {_counted(after)}")
    return "; ".join(parts)


def _reason(failed: list[ResourceResult]) -> str:
    first = failed[0]
    if first.status == ResultStatus.SYNC_FAILED and first.hook_phase != OperationPhase.ERROR:
        return f"one or more objects failed to apply: {_counted(failed)}"
    if first.hook_type:
        return f"one or more synchronization tasks completed unsuccessfully: {_counted(failed)}"
    return f"one or more objects did not become healthy: {_counted(failed)}"


def _counted(failed: list[ResourceResult]) -> str:
    first = failed[0]
    role = f"{first.hook_type} hook " if first.hook_type else ""
    more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
    return f"{role}{first.kind} {first.name}: {first.message}{more}"
