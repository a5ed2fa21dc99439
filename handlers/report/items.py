"""Link items: facts, states and task reports in the form that the link carries. Pure.

An item is built redacted, so nothing that is not redacted reaches the outbox. `ItemStamp` holds
what a pure function cannot know: id, time and correlation; the outbox gives the sequence number.
An Application is reported with two things that its status has no field for: the cause of ill
health, and the commits behind its revisions. The states of other kinds are built in
`connection_items`, `instances` and `trust`, all with `state_body` and `state_item`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bus.events import Commit, Fact
from bus.events.event import wire_type
from bus.events.facts import AppFact
from bus.link import ItemKind, LinkItem, StateBody, TaskProgress, TaskResult
from bus.link.digest import content_hash, edit_version
from bus.link.kinds import APPLICATION, PROJECT
from bus.status import Cause
from handlers.application.application import NOT_EDITED, Application, AppProject, Metadata
from handlers.report.redaction import Redaction

LARGEST = 240 * 1024
"""Bytes of a body, so that the item around it stays below 256 KiB."""
_ENCODER = msgspec.json.Encoder(order="deterministic")


class ItemStamp(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    time: str
    correlation: str = ""


def fact_item(fact: Fact, stamp: ItemStamp, redaction: Redaction) -> LinkItem:
    body = redaction.within(str(fact.key)).value(msgspec.to_builtins(fact))
    return LinkItem(
        sequence=0,
        before=0,
        kind=ItemKind.FACT,
        type=wire_type(fact),
        id=stamp.id,
        subject=redaction.text(str(fact.key)),
        time=stamp.time,
        project=fact.project if isinstance(fact, AppFact) else "",
        correlation=stamp.correlation,
        body=msgspec.Raw(_ENCODER.encode(body)),
    )


def note_item(kind: str, body: Mapping[str, int], stamp: ItemStamp) -> LinkItem:
    """A fact of the link itself, e.g. that reports had to be thrown out."""
    return LinkItem(
        sequence=0,
        before=0,
        kind=ItemKind.FACT,
        type=kind,
        id=stamp.id,
        subject="outbox",
        time=stamp.time,
        body=msgspec.Raw(_ENCODER.encode(body)),
    )


def tombstone(kind: str, subject: str, stamp: ItemStamp, uid: str = "") -> LinkItem:
    """The object is gone from the cluster."""
    return LinkItem(
        sequence=0,
        before=0,
        kind=ItemKind.STATE,
        type=state_type(kind),
        id=stamp.id,
        subject=subject,
        time=stamp.time,
        uid=uid,
        deleted=True,
    )


def progress_item(progress: TaskProgress, stamp: ItemStamp) -> LinkItem:
    return _task_item("progress.v1", progress.id, progress, stamp)


def result_item(result: TaskResult, stamp: ItemStamp) -> LinkItem:
    return _task_item("result.v1", result.id, result, stamp)


def state_type(kind: str) -> str:
    return f"{kind.lower()}.v1"


def _shortened(status: dict[str, Any]) -> dict[str, Any]:
    """Shorten what will not fit in any case, before every word of it is redacted."""
    while len(_ENCODER.encode(status)) > LARGEST and status:
        status = _shorter(status)
    return status


def fitting(body: StateBody) -> StateBody:
    """Without long lists of objects where it would not fit on the link; the count stays."""
    status = dict(body.status)
    while len(_ENCODER.encode(body)) > LARGEST and status:
        status = _shorter(status)
        body = msgspec.structs.replace(body, status=status)
    return body


def _shorter(status: dict[str, Any]) -> dict[str, Any]:
    state = status.get("operationState")
    if isinstance(state, dict) and state.get("syncResult", {}).get("resources"):
        result = {**state["syncResult"], "resources": []}
        return {**status, "operationState": {**state, "syncResult": result}}
    resources = status.get("resources") or []
    if len(resources) > 1:
        total = status.get("resourcesTotal", len(resources))
        half = resources[: len(resources) // 2]
        return {**status, "resources": half, "resourcesTotal": total}
    return {}


def state_body(kind: str, metadata: Metadata, redaction: Redaction) -> StateBody:
    return StateBody(
        kind=kind,
        namespace=metadata.namespace,
        name=metadata.name,
        labels=redaction.labels(metadata.labels, ("metadata",)),
        annotations=redaction.annotations(metadata.annotations, ("metadata",)),
    )


def state_item(body: StateBody, metadata: Metadata, project: str, stamp: ItemStamp) -> LinkItem:
    encoded = _ENCODER.encode(body)
    return LinkItem(
        sequence=0,
        before=0,
        kind=ItemKind.STATE,
        type=state_type(body.kind),
        id=stamp.id,
        subject=f"{metadata.namespace}/{metadata.name}",
        time=stamp.time,
        project=project,
        uid=metadata.uid,
        hash=content_hash(msgspec.json.decode(encoded)),
        body=msgspec.Raw(encoded),
    )


def _task_item(
    kind: str, task_id: str, body: TaskProgress | TaskResult, stamp: ItemStamp
) -> LinkItem:
    return LinkItem(
        sequence=0,
        before=0,
        kind=ItemKind.TASK,
        type=kind,
        id=stamp.id,
        subject=task_id,
        time=stamp.time,
        body=msgspec.Raw(_ENCODER.encode(body)),
    )


_LONGEST_MESSAGE = 2000


class ReportedApplication(msgspec.Struct, frozen=True, kw_only=True):
    """An Application with what its status has no field for: cause of ill health, commits."""

    app: Application
    cause: Cause | None = None
    commits: Mapping[str, Commit] = {}
    """By revision."""


def application_item(
    found: ReportedApplication, stamp: ItemStamp, redaction: Redaction
) -> LinkItem:
    app, cause = found.app, found.cause
    redaction = redaction.within(_identity(APPLICATION.name, app.metadata))
    body = msgspec.structs.replace(
        _edited(APPLICATION.name, app, redaction),
        status=redaction.value(_shortened(msgspec.to_builtins(app.status)), ("status",)),
        cause=_shown(cause, redaction) if cause is not None else None,
        commits={revision: _commit(it, redaction) for revision, it in found.commits.items()},
    )
    return state_item(fitting(body), app.metadata, app.spec.project, stamp)


def project_item(project: AppProject, stamp: ItemStamp, redaction: Redaction) -> LinkItem:
    redaction = redaction.within(_identity(PROJECT.name, project.metadata))
    body = _edited(PROJECT.name, project, redaction)
    return state_item(fitting(body), project.metadata, project.metadata.name, stamp)


def edit_version_of(kind: str, found: Application | AppProject, redaction: Redaction) -> str:
    """The version that a report of this object carries, for a writer's precondition."""
    redaction = redaction.within(_identity(kind, found.metadata))
    return _edited(kind, found, redaction).edit_version


def _edited(kind: str, found: Application | AppProject, redaction: Redaction) -> StateBody:
    """What people edit of the object, as it is shown to them, with its version."""
    annotations = found.metadata.annotations
    edited = {name: it for name, it in annotations.items() if name not in NOT_EDITED}
    metadata = msgspec.structs.replace(found.metadata, annotations=edited)
    body = state_body(kind, metadata, redaction)
    spec = redaction.value(msgspec.to_builtins(found.spec), ("spec",))
    version = edit_version(spec, body.labels, body.annotations)
    return msgspec.structs.replace(body, spec=spec, edit_version=version)


def _identity(kind: str, metadata: Metadata) -> str:
    """The same as of the live object: what is shown masked can be sent back."""
    return f"argoproj.io/{kind}/{metadata.namespace}/{metadata.name}"


def _commit(commit: Commit, redaction: Redaction) -> Commit:
    author, message = redaction.text(commit.author), redaction.text(commit.message)
    return msgspec.structs.replace(commit, author=author, message=message)


def _shown(cause: Cause, redaction: Redaction) -> Cause:
    return msgspec.structs.replace(
        cause,
        object=redaction.text(cause.object),
        reason=redaction.text(cause.reason),
        message=redaction.text(cause.message)[:_LONGEST_MESSAGE],
    )
