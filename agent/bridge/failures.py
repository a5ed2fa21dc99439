"""What can go wrong in a task, as codes for programs and words for people. Pure."""

from __future__ import annotations

import msgspec

from agent.bridge.doing import TaskFailedError
from agent.bridge.link import LinkLostError
from agent.kube.errors import ConflictError, ForbiddenError, NotFoundError
from bus.carrier import CarrierError
from handlers.ports import (
    ApplyRefusedError,
    ClusterUnreachableError,
    RepositoryError,
    StaleWriteError,
)

ERRORS = (
    TaskFailedError,
    ApplyRefusedError,
    ClusterUnreachableError,
    RepositoryError,
    StaleWriteError,
    CarrierError,
    LinkLostError,
    msgspec.MsgspecError,
    TimeoutError,
)
"""What an executor may raise; anything else is a bug."""


_CODES: tuple[tuple[type[Exception], str], ...] = (
    (NotFoundError, "not_found"),
    (ConflictError, "conflict"),
    (StaleWriteError, "conflict"),
    (ForbiddenError, "not_allowed"),
    (ApplyRefusedError, "invalid"),
    (ClusterUnreachableError, "unreachable"),
    (RepositoryError, "unreachable"),
    (TimeoutError, "unreachable"),
    (LinkLostError, "cancelled"),
    (msgspec.MsgspecError, "invalid"),
)
"""The first that fits."""


def failed(error: Exception) -> TaskFailedError:
    if isinstance(error, TaskFailedError):
        return error
    code = next((code for kind, code in _CODES if isinstance(error, kind)), "failed")
    return TaskFailedError(code, str(error) or type(error).__name__)
