"""Answers of the service as people read them: full names, ends and causes.

The structs themselves are generated (`service_types`). With `--json` answers are printed as they
came, so a struct is read only for what people are shown. A list leaves out `spec` and `status` of
an application, which are then empty.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from cli.remote.errors import ServiceError
from cli.remote.service_types import (
    ApplicationCause,
    ApplicationDetail,
    ApplicationSyncFailure,
    AppProjectDetail,
    TaskSummary,
)

S = TypeVar("S", bound=msgspec.Struct)


def read(plain: object, shape: type[S]) -> S:
    """Convert an answer to a struct; raises ServiceError where it does not have the shape."""
    try:
        return msgspec.convert(plain, shape)
    except msgspec.ValidationError as e:
        raise ServiceError(f"the service's answer cannot be read ({e}): versions differ") from e


def full_name(answer: ApplicationDetail | AppProjectDetail) -> str:
    """Name an object by agent, namespace and name: `prod-eu/argocd/payments`."""
    return f"{answer.agent.name}/{answer.namespace}/{answer.name}"


def object_name(key: str) -> str:
    """Format `/Pod/shop/web-1` as `Pod shop/web-1`."""
    group, _, rest = key.partition("/")
    kind, _, name = rest.partition("/")
    return f"{kind} {name.lstrip('/')}" if name else group or key


def cause_sentence(cause: ApplicationCause) -> str:
    return ": ".join(filter(None, (object_name(cause.object), cause.reason, cause.message)))


def failure_sentence(failure: ApplicationSyncFailure) -> str:
    again = f" (retrying, {failure.retries} so far)" if failure.retrying else ""
    return ": ".join(filter(None, (object_name(failure.object), failure.message))) + again


def has_ended(task: TaskSummary) -> bool:
    return task.phase not in ("queued", "offered", "running")


def has_failed(task: TaskSummary) -> bool:
    return has_ended(task) and not has_succeeded(task)


def has_succeeded(task: TaskSummary) -> bool:
    return task.phase == "succeeded"
