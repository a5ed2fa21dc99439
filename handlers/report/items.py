"""Items: a fact, or the state of one of our objects, as the link carries it. Redacted here.

`Stamp` is what a pure function cannot know: id, time and chain. Sequences are the outbox's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from bus.cause import Cause
from bus.events import Fact
from bus.events.facts import AppFact
from bus.events.registry import wire_type
from bus.link import Item, ItemKind, StateBody, TaskProgress, TaskResult
from bus.link.digest import content_hash
from handlers.application.application import Application, AppProject, Metadata
from handlers.report.redaction import Redaction

APPLICATION = "Application"
PROJECT = "AppProject"
REPOSITORY = "Repository"
REPOSITORY_CREDENTIALS = "RepositoryCredentials"
CLUSTER = "Cluster"
COMPONENT = "Component"
_PUBLIC = frozenset(
    {"url", "type", "name", "project", "server", "insecure", "enableOCI", "enableLfs", "namespaces"}
)
LARGEST = 240 * 1024
"""Bytes of a body, so that the item around it stays below 256 KiB."""
_LONGEST_MESSAGE = 2000
_ENCODER = msgspec.json.Encoder(order="deterministic")


SUCCESSFUL, FAILED = "Successful", "Failed"


class ConnectionState(msgspec.Struct, frozen=True, kw_only=True):
    """How the last use of a connection ended, in Argo CD's words."""

    status: str
    message: str = ""
    attempted_at: str = ""

    def says_as(self, other: ConnectionState) -> bool:
        """Whether but the time is the same."""
        return (self.status, self.message) == (other.status, other.message)


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """A Secret of Argo CD's format for a repository, a prefix of them or a cluster, decoded."""

    kind: str
    namespace: str
    name: str
    data: Mapping[str, str]
    state: ConnectionState | None = None
    """None while it was not used."""

    def __repr__(self) -> str:
        return f"Connection({self.kind} {self.namespace}/{self.name})"


class Component(msgspec.Struct, frozen=True, kw_only=True):
    """Something the agent stands on."""

    name: str
    status: str
    message: str = ""
    version: str = ""


class ReportedApplication(msgspec.Struct, frozen=True, kw_only=True):
    """An Application with the cause of its ill health, which its status has no field for."""

    app: Application
    cause: Cause | None = None


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    time: str
    correlation: str = ""


def fact_item(fact: Fact, stamp: Stamp, redaction: Redaction) -> Item:
    body = redaction.within(str(fact.key)).value(msgspec.to_builtins(fact))
    return Item(
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


def application_item(found: ReportedApplication, stamp: Stamp, redaction: Redaction) -> Item:
    app, cause = found.app, found.cause
    redaction = redaction.within(_identity(APPLICATION, app.metadata))
    body = state_body(APPLICATION, app.metadata, redaction)
    body = msgspec.structs.replace(
        body,
        spec=redaction.value(msgspec.to_builtins(app.spec), ("spec",)),
        status=redaction.value(msgspec.to_builtins(app.status), ("status",)),
        cause=_shown(cause, redaction) if cause is not None else None,
    )
    return state_item(fitting(body), app.metadata, app.spec.project, stamp)


def project_item(project: AppProject, stamp: Stamp, redaction: Redaction) -> Item:
    redaction = redaction.within(_identity(PROJECT, project.metadata))
    body = state_body(PROJECT, project.metadata, redaction)
    spec = redaction.value(msgspec.to_builtins(project.spec), ("spec",))
    body = msgspec.structs.replace(body, spec=spec)
    return state_item(fitting(body), project.metadata, project.metadata.name, stamp)


def connection_item(found: Connection, stamp: Stamp, redaction: Redaction) -> Item:
    """A repository or cluster: where and what, and whether there is a credential; never which."""
    spec: dict[str, Any] = {
        name: redaction.text(value) for name, value in found.data.items() if name in _PUBLIC
    }
    spec["hasCredential"] = any(value for name, value in found.data.items() if name not in _PUBLIC)
    metadata = Metadata(namespace=found.namespace, name=found.name)
    status = {"connectionState": _state(found.state, redaction)} if found.state else {}
    body = state_body(found.kind, metadata, redaction)
    body = msgspec.structs.replace(body, spec=spec, status=status)
    return state_item(body, metadata, found.data.get("project", ""), stamp)


def _state(state: ConnectionState, redaction: Redaction) -> dict[str, str]:
    said = {"status": state.status, "message": redaction.text(state.message)}
    return {**said, "attemptedAt": state.attempted_at}


def component_item(found: Component, stamp: Stamp, redaction: Redaction) -> Item:
    metadata = Metadata(name=found.name)
    status = redaction.value(msgspec.to_builtins(found))
    body = msgspec.structs.replace(state_body(COMPONENT, metadata, redaction), status=status)
    item = state_item(body, metadata, "", stamp)
    return msgspec.structs.replace(item, subject=found.name)


def note_item(kind: str, body: Mapping[str, int], stamp: Stamp) -> Item:
    """A fact of the link itself, e.g. that reports had to be thrown out."""
    return Item(
        sequence=0,
        before=0,
        kind=ItemKind.FACT,
        type=kind,
        id=stamp.id,
        subject="outbox",
        time=stamp.time,
        body=msgspec.Raw(_ENCODER.encode(body)),
    )


def tombstone(kind: str, subject: str, stamp: Stamp, uid: str = "") -> Item:
    """The object is gone from the cluster."""
    return Item(
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


def progress_item(progress: TaskProgress, stamp: Stamp) -> Item:
    return _task_item("progress.v1", progress.id, progress, stamp)


def result_item(result: TaskResult, stamp: Stamp) -> Item:
    return _task_item("result.v1", result.id, result, stamp)


def state_type(kind: str) -> str:
    return f"{kind.lower()}.v1"


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


def state_item(body: StateBody, metadata: Metadata, project: str, stamp: Stamp) -> Item:
    encoded = _ENCODER.encode(body)
    return Item(
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


def _identity(kind: str, metadata: Metadata) -> str:
    """The same as of the live object: what is shown masked can be sent back."""
    return f"argoproj.io/{kind}/{metadata.namespace}/{metadata.name}"


def _shown(cause: Cause, redaction: Redaction) -> Cause:
    return msgspec.structs.replace(
        cause,
        object=redaction.text(cause.object),
        reason=redaction.text(cause.reason),
        message=redaction.text(cause.message)[:_LONGEST_MESSAGE],
    )


def _task_item(kind: str, task_id: str, body: TaskProgress | TaskResult, stamp: Stamp) -> Item:
    return Item(
        sequence=0,
        before=0,
        kind=ItemKind.TASK,
        type=kind,
        id=stamp.id,
        subject=task_id,
        time=stamp.time,
        body=msgspec.Raw(_ENCODER.encode(body)),
    )
