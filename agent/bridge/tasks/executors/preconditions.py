"""Preconditions of a write: the object is still the one that the requester read.

The API server keeps the object from changing between this check and the write: a replacement names
the resourceVersion that was read here, and a deletion the UID.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import orjson

from agent.bridge.tasks.task_context import TaskFailedError
from bus.link import LinkTask
from bus.link.kinds import PROJECT
from handlers.application.application import (
    Application,
    read_application,
    read_project,
    read_without_spec,
)
from handlers.manifest import access
from handlers.report.items import edit_version_of
from handlers.report.redaction import Redaction


def check(task: LinkTask, live: Mapping[str, Any], redaction: Redaction) -> None:
    """Raise TaskFailedError where UID, resourceVersion or edit version differ from the task's."""
    check_identity(task, live)
    version = task.precondition.get("resourceVersion")
    edited = task.precondition.get("editVersion")
    if (version and version != access.resource_version(live)) or (
        edited and edited != _edit_version(live, redaction)
    ):
        text = f"{task.subject} changed after it was read: read it again, then repeat"
        raise TaskFailedError("conflict", text)


def check_identity(task: LinkTask, live: Mapping[str, Any]) -> None:
    """Raise TaskFailedError where the object has another UID than the task names."""
    uid = task.precondition.get("uid")
    if uid and uid != access.uid(live):
        text = f"{task.subject} was deleted and created again after it was read"
        raise TaskFailedError("conflict", text)


def check_seen(task: LinkTask, secret: Mapping[str, Any]) -> None:
    """Raise TaskFailedError where the Secret is not, in this version, the one the task names.

    The task has to name it: a credential that was put in its place meanwhile is another one.
    """
    if not task.precondition.get("uid"):
        text = (
            f"the deletion of {task.subject} names no uid, so a Secret that took its place could be"
            " deleted: expected the uid and version that the agent reports"
        )
        raise TaskFailedError("invalid", text)
    check_identity(task, secret)
    seen = task.precondition.get("editVersion") or task.precondition.get("resourceVersion")
    if seen and seen != access.resource_version(secret):
        text = f"{task.subject} changed after it was read: read it again, then repeat"
        raise TaskFailedError("conflict", text)


def check_known(live: Mapping[str, Any], known: Application | None) -> None:
    """Raise TaskFailedError where the agent has not seen this state of the Application yet.

    The policy judges a task by the destination that the agent knows, and the API server has a new
    or changed Application a moment before the agent.
    """
    destination = _read_application(live).spec.destination
    if known is None or (known.metadata.uid, known.spec.destination) != (
        access.uid(live),
        destination,
    ):
        text = f"Application {access.name(live)} came or changed a moment ago: try again"
        raise TaskFailedError("conflict", text)


def _edit_version(live: Mapping[str, Any], redaction: Redaction) -> str:
    kind = access.kind(live)
    if kind == PROJECT.name:
        return edit_version_of(kind, read_project(orjson.dumps(live)), redaction)
    return edit_version_of(kind, _read_application(live), redaction)


def _read_application(live: Mapping[str, Any]) -> Application:
    """Read it as the agent's index does: a malformed one without its spec."""
    raw = orjson.dumps(live)
    try:
        return read_application(raw)
    except msgspec.ValidationError:
        return read_without_spec(raw)
