"""Override of a closed sync window: one operation that a person lets through, with a reason. Pure.

The reason is the entry `overrideWindow` of `operation.info`, a field of Argo CD's that people and
tools may fill. It counts for the operation that carries it, with its retries, and for no other one.
"""

from __future__ import annotations

from typing import Protocol

from handlers.application.application import Application
from handlers.application.spec import Operation
from handlers.control_plane.governance import OVERRIDE_WINDOW
from handlers.sync.operation_info import info_of

LONGEST_REASON = 500


class OverridePolicy(Protocol):
    """What the owner of the cluster says of overrides."""

    def window_override_problem(self, app: Application) -> str: ...


def closed_window(
    app: Application, operation: Operation, problem: str, policy: OverridePolicy
) -> str:
    """Say why a window that is closed holds the operation; empty where the operation passes it."""
    if not info_of(operation, OVERRIDE_WINDOW).strip():
        return problem
    if operation.initiated_by.automated:
        return f"{problem}; the override is refused: an automated operation has none"
    refusal = policy.window_override_problem(app)
    return f"{problem}; the override is refused: {refusal}" if refusal else ""
