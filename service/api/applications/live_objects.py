"""One live object of an application: its actions, an edit, its deletion, and previews of each.

All of it is done by the agent, within the project of the application and the policy of the
cluster's owner. Actions need `gitops_application_action`, or a role with a pattern that matches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import msgspec
from aiohttp import web

from bus.link import (
    ActionsArguments,
    DeleteObjectArguments,
    EditObjectArguments,
    ObjectArguments,
    ObjectPreviewArguments,
    RunActionArguments,
    TaskArguments,
)
from service.access.action_patterns import action_name, may_act
from service.access.permissions import Permission
from service.api.agent_tasks.task_answers import answered, ask, body_of
from service.api.agent_tasks.task_requests import TaskReceipt, submit
from service.api.applications import applications as apps
from service.api.applications.agent_reads import WAIT_SECONDS, ObjectQuery
from service.api.applications.command_requests import ObjectRef
from service.api.applications.commands import task_request_for
from service.api.applications.live_object_models import (
    ActionRequest,
    DeletionRequest,
    EditRequest,
    ObjectPreview,
    OfferedAction,
    ResourceActions,
)
from service.api.applications.summaries import ApplicationRow
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, RequestModel
from service.http.problem import DeniedError, invalid

VIEW = Permission.APPLICATION_VIEW
ACTION = Permission.APPLICATION_ACTION
EDIT, DELETE = Permission.OBJECT_EDIT, Permission.OBJECT_DELETE
_WITHIN = 30.0
_MOST_FIELDS, _DEEPEST = 100, 12
A = TypeVar("A", bound=ObjectArguments)


async def list_actions(call: ApiCall, params: ObjectQuery) -> web.Response | ResourceActions:
    """List the resource actions of one live object, and which of them the caller may run."""
    row = await apps.find(call, call.id, VIEW)
    scope = await apps.scope_of(call, row)
    arguments = msgspec.convert(params, ActionsArguments, from_attributes=True)
    ended = await ask(call, row, arguments, within=WAIT_SECONDS)
    if not ended.phase.final:
        return await answered(call, ended)
    body = body_of(ended)
    shown = [
        OfferedAction(
            name=one["name"],
            title=one.get("title", ""),
            params=one.get("params", []),
            disabled=one.get("disabled", False),
            why=one.get("why", ""),
            permitted=may_act(
                call.caller.bindings, action_name(params.group, params.kind, one["name"]), scope
            ),
        )
        for one in body["actions"]
    ]
    return ResourceActions(actions=shown, problem=body.get("problem", ""))


async def preview_action(call: ApiCall, params: ActionRequest) -> ObjectPreview:
    """Preview a resource action: the fields that it changes and the objects that it creates."""
    row = await _may_act(call, params)
    change = ObjectPreviewArguments(action=params.action, params=params.params)
    return await _preview(call, row, _about(params, change))


async def run_action(call: ApiCall, params: ActionRequest) -> TaskReceipt:
    """Run a resource action on one live object."""
    row = await _may_act(call, params)
    change = RunActionArguments(action=params.action, params=params.params, uid=params.uid)
    return await _submitted(call, row, _about(params, change))


async def preview_edit(call: ApiCall, params: EditRequest) -> ObjectPreview:
    """Preview an edit of one live object: what changes, and what would differ from Git."""
    row = await apps.find(call, call.id, EDIT)
    _check_edit(params)
    change = ObjectPreviewArguments(patch=params.patch)
    return await _preview(call, row, _about(params, change))


async def edit_object(call: ApiCall, params: EditRequest) -> TaskReceipt:
    """Change one live object by a JSON merge patch."""
    row = await apps.find(call, call.id, EDIT)
    _check_edit(params)
    change = EditObjectArguments(
        patch=params.patch, uid=params.uid, resource_version=params.resource_version
    )
    request = task_request_for(row, _about(params, change))
    named = msgspec.to_builtins(_about(params, ObjectArguments()))
    detail = {**named, "fields": sorted(_fields(params.patch))[:_MOST_FIELDS]}
    request = msgspec.structs.replace(request, detail=detail)
    return TaskReceipt(task=await submit(call, request))


async def preview_deletion(call: ApiCall, params: DeletionRequest) -> ObjectPreview:
    """Preview the deletion of one live object: what goes with it, and whether it comes back."""
    row = await apps.find(call, call.id, DELETE)
    return await _preview(call, row, _about(params, ObjectPreviewArguments(delete=True)))


async def delete_object(call: ApiCall, params: DeletionRequest) -> TaskReceipt:
    """Delete one live object of an application, or an orphaned one; `uid` is required."""
    row = await apps.find(call, call.id, DELETE)
    if not params.uid:
        text = "expected the uid of the object, as the tree of the application shows it"
        remedy = "Without it another object of that name could be deleted."
        raise invalid("uid", text, rule="required", remedy=remedy)
    change = DeleteObjectArguments(
        uid=params.uid, propagation=params.propagation, force=params.force
    )
    return await _submitted(call, row, _about(params, change))


async def _may_act(call: ApiCall, params: ActionRequest) -> ApplicationRow:
    row = await apps.find(call, call.id, VIEW)
    name = action_name(params.group, params.kind, params.action)
    if not may_act(call.caller.bindings, name, await apps.scope_of(call, row)):
        needed = f"{name} (or {ACTION})"
        detail = f"you do not have permission to run this action: a role needs {needed}"
        raise DeniedError(name, f"application {row.subject}", detail=detail)
    return row


def _check_edit(params: EditRequest) -> None:
    """Refuse an edit of a Secret before anything of it is stored here."""
    if params.kind == "Secret":
        remedy = "Change it in Git, or with kubectl."
        text = "a Secret is not edited here: its values would pass the service and stay in it"
        raise invalid("kind", text, rule="secret", remedy=remedy)


def _fields(patch: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """The paths of the fields that a patch touches: the audit keeps no values of them."""
    for name, value in patch.items():
        here = f"{path}.{name}" if path else name
        if isinstance(value, Mapping) and value and here.count(".") < _DEEPEST:
            yield from _fields(value, here)
        else:
            yield here


def _about(params: ObjectRef, change: A) -> A:
    """Name the object of the request in the arguments of a task."""
    return msgspec.structs.replace(
        change,
        group=params.group,
        kind=params.kind,
        namespace=params.namespace,
        name=params.name,
    )


async def _preview(
    call: ApiCall, row: ApplicationRow, arguments: ObjectPreviewArguments
) -> ObjectPreview:
    ended = await ask(call, row, arguments, within=_WITHIN)
    return msgspec.convert(body_of(ended), ObjectPreview)


async def _submitted(call: ApiCall, row: ApplicationRow, arguments: TaskArguments) -> TaskReceipt:
    return TaskReceipt(task=await submit(call, task_request_for(row, arguments)))


def _post(
    path: str, handler: Any, takes: type[RequestModel], needs: Permission, *, preview: bool = False
) -> Endpoint:
    return Endpoint(
        method="POST",
        path=f"/applications/{{id}}/{path}",
        needs=needs,
        handler=handler,
        takes=takes,
        gives=ObjectPreview if preview else TaskReceipt,
        status=200 if preview else 202,
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/actions",
        needs=VIEW,
        handler=list_actions,
        takes=ObjectQuery,
        gives=ResourceActions,
    ),
    _post("actions", run_action, ActionRequest, ACTION),
    _post("actions/preview", preview_action, ActionRequest, ACTION, preview=True),
    _post("objects/edit", edit_object, EditRequest, EDIT),
    _post("objects/edit/preview", preview_edit, EditRequest, EDIT, preview=True),
    _post("objects/delete", delete_object, DeletionRequest, DELETE),
    _post("objects/delete/preview", preview_deletion, DeletionRequest, DELETE, preview=True),
)
