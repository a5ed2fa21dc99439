"""Reads of an application that only its agent can answer: tree, manifests, diff, live, events.

A read is a task like any other. The request waits for the answer without a database connection.
Where the agent takes longer, the caller gets 202 with the task; the change feed tells its end.

The service passes these answers on as they come; the types describe them for the OpenAPI document.
Objects are named `group/kind/namespace/name`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from aiohttp import web
from msgspec import UNSET, UnsetType

from bus.link import (
    DiffArguments,
    EventsArguments,
    LiveArguments,
    ManifestsArguments,
    TaskArguments,
    TreeArguments,
)
from service.access.permissions import Permission
from service.api.agent_tasks.task_answers import answered, ask
from service.api.applications import applications as apps
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, Handler, NoInput, RequestModel, ResponseModel
from service.http.fields import Text

VIEW = Permission.APPLICATION_VIEW
WAIT_SECONDS = 10.0


class TreeNode(ResponseModel, frozen=True, kw_only=True):
    """An object of the application; `parents` own it."""

    uid: str | UnsetType = UNSET
    """Left out for an object that is in Git and not in the cluster."""
    group: str
    version: str
    kind: str
    namespace: str
    name: str
    health: Literal["", "Healthy", "Suspended", "Progressing", "Missing", "Degraded", "Unknown"]
    """Empty for an object of a kind that has no health."""
    health_message: str
    sync: Literal["", "Synced", "OutOfSync", "Unknown"]
    """Empty for an object that is not in Git."""
    parents: list[str]
    images: list[str]
    created_at: str | None
    info: list[str]
    orphaned: bool | UnsetType = UNSET
    """True for an object of the destination's namespace that no application has."""


class TreeAnswer(ResponseModel, frozen=True, kw_only=True):
    nodes: list[TreeNode]


class ManifestsAnswer(ResponseModel, frozen=True, kw_only=True):
    """The manifests that a revision renders, redacted."""

    revision: str
    manifests: list[dict[str, Any]]


class FieldChange(ResponseModel, frozen=True, kw_only=True):
    """A field whose desired and live value differ; null where a side has none."""

    path: str
    desired: Any
    live: Any


class ObjectDiff(ResponseModel, frozen=True, kw_only=True):
    """An object that differs; `desired` or `live` is null where only the other exists."""

    key: str
    modified: bool
    desired: dict[str, Any] | None
    live: dict[str, Any] | None
    changes: list[FieldChange]


class DiffAnswer(ResponseModel, frozen=True, kw_only=True):
    """`revision`: the commit that was compared."""

    revision: str
    objects: list[ObjectDiff]


class KubernetesEvent(ResponseModel, frozen=True, kw_only=True):
    """`object` is `kind/name`."""

    type: str
    reason: str
    message: str
    count: int
    last_seen: str
    object: str


class EventsAnswer(ResponseModel, frozen=True, kw_only=True):
    """The newest first."""

    items: list[KubernetesEvent]


class ObjectQuery(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """One object; `version` may be left out."""

    group: Text = ""
    version: Text = ""
    kind: Annotated[str, msgspec.Meta(min_length=1, max_length=63)]
    namespace: Text = ""
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]


class ObjectEventsQuery(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """Of one object, or of the whole application where none is named."""

    group: Text = ""
    version: Text = ""
    kind: Text = ""
    namespace: Text = ""
    name: Annotated[str, msgspec.Meta(max_length=253)] = ""
    uid: Text = ""


class RevisionQuery(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """Any branch, tag or commit; what is rendered now where it is left out."""

    revision: Annotated[str, msgspec.Meta(max_length=253)] = ""


async def get_tree(call: ApiCall, _params: NoInput) -> web.Response:
    """Get the objects of an application and their owners as a tree of nodes."""
    return await _read(call, TreeArguments())


async def get_manifests(call: ApiCall, params: RevisionQuery) -> web.Response:
    """Get the rendered manifests of an application, redacted."""
    return await _read(call, ManifestsArguments(revision=params.revision))


async def get_diff(call: ApiCall, params: RevisionQuery) -> web.Response:
    """Get the diff of an application: desired beside live, with the fields that differ."""
    return await _read(call, DiffArguments(revision=params.revision))


async def get_live(call: ApiCall, params: ObjectQuery) -> web.Response:
    """Get one live object of an application, redacted."""
    return await _read(call, msgspec.convert(params, LiveArguments, from_attributes=True))


async def get_events(call: ApiCall, params: ObjectEventsQuery) -> web.Response:
    """List the Kubernetes events of an application or of one object, the newest first."""
    return await _read(call, msgspec.convert(params, EventsArguments, from_attributes=True))


async def _read(call: ApiCall, arguments: TaskArguments) -> web.Response:
    row = await apps.find(call, call.id, VIEW)
    ended = await ask(call, row, arguments, within=WAIT_SECONDS)
    return await answered(call, ended)


def _get(noun: str, handler: Handler, gives: Any, takes: type[RequestModel] = NoInput) -> Endpoint:
    return Endpoint(
        method="GET",
        path=f"/applications/{{id}}/{noun}",
        needs=VIEW,
        handler=handler,
        takes=takes,
        gives=gives,
    )


ENDPOINTS = (
    _get("tree", get_tree, TreeAnswer),
    _get("manifests", get_manifests, ManifestsAnswer, RevisionQuery),
    _get("diff", get_diff, DiffAnswer, RevisionQuery),
    _get("live", get_live, dict[str, Any], ObjectQuery),
    _get("events", get_events, EventsAnswer, ObjectEventsQuery),
)
