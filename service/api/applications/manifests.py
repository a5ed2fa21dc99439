"""Writes of applications by their agent: create, replace, delete.

The cluster is the truth: the service stores nothing of a write. The agent applies it, and what the
agent then reports is shown.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from bus.link import DeleteArguments, PutArguments
from service.access.decision import ResourceScope, may_create
from service.access.permissions import Permission
from service.access.visibility import application_scope
from service.api.agent_tasks.task_requests import TaskReceipt, TaskRequest, submit
from service.api.agents.agents import referred_agent
from service.api.applications import applications as apps
from service.api.applications.commands import task_request_for
from service.api.applications.summaries import ApplicationRow
from service.api.connections import no_credentials, reported_objects
from service.http import versioned
from service.http.call import ApiCall
from service.http.decode import texts
from service.http.endpoint import Endpoint, RequestModel
from service.http.fields import Id
from service.http.problem import DeniedError, invalid

EDIT = Permission.APPLICATION_EDIT
DELETE = Permission.APPLICATION_DELETE
_NAME = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
API = "argoproj.io/v1alpha1"


class ManifestMetadata(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """What a writer may say of an Application or AppProject; the rest is the cluster's."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class ApplicationManifest(RequestModel, frozen=True, kw_only=True):
    """An Argo CD Application."""

    api_version: Annotated[str, msgspec.Meta(pattern=r"^argoproj\.io/v1alpha1$")] = API
    kind: Annotated[str, msgspec.Meta(pattern="^Application$")] = "Application"
    metadata: ManifestMetadata
    spec: dict[str, Any]


class NewApplication(RequestModel, frozen=True, kw_only=True):
    agent: Id
    manifest: ApplicationManifest


class ApplicationChange(RequestModel, frozen=True, kw_only=True):
    manifest: ApplicationManifest
    version: Annotated[str, msgspec.Meta(max_length=64)] | None = None


class DeleteQuery(RequestModel, frozen=True, kw_only=True):
    cascade: bool = True
    """Delete what it deployed too."""


async def create_application(call: ApiCall, params: NewApplication) -> TaskReceipt:
    """Create an application by its agent; refused there if it exists."""
    agent = await referred_agent(call, params.agent)
    metadata = params.manifest.metadata
    project = project_of(params.manifest)
    scope = await application_scope(call.connection, agent.id, project, metadata.labels)
    _require_create(call, scope, f"application {metadata.name}")
    order = TaskRequest(
        agent_id=agent.id,
        subject=f"{metadata.namespace or 'argocd'}/{metadata.name}",
        project=project,
        arguments=PutArguments(manifest=plain(params.manifest), create=True),
        action="application.create",
    )
    return TaskReceipt(task=await submit(call, order))


async def replace_application(call: ApiCall, params: ApplicationChange) -> TaskReceipt:
    """Replace spec, labels and annotations of an application, by its agent.

    Refused where the application was changed after the caller read it.
    """
    row = await apps.find(call, call.id, EDIT)
    body = await apps.body_of(call, row)
    versioned.check(
        versioned.expected(call.request, params.version), reported_objects.version_of(body)
    )
    _check_same(row, params.manifest)
    await _check_move(call, row, params.manifest)
    metadata = msgspec.structs.replace(params.manifest.metadata, namespace=row.namespace)
    manifest = msgspec.structs.replace(params.manifest, metadata=metadata)
    order = task_request_for(row, PutArguments(manifest=plain(manifest)))
    seen = reported_objects.precondition_of(body)
    order = msgspec.structs.replace(order, precondition=seen, action="application.change")
    return TaskReceipt(task=await submit(call, order))


async def delete_application(call: ApiCall, params: DeleteQuery) -> TaskReceipt:
    """Delete an application by its agent, with its objects unless cascade=false."""
    row = await apps.find(call, call.id, DELETE)
    body = await apps.body_of(call, row)
    if_match = call.request.headers.get("If-Match", "")
    if if_match:
        versioned.check(if_match, reported_objects.version_of(body))
    order = task_request_for(row, DeleteArguments(cascade=params.cascade))
    seen = reported_objects.precondition_of(body)
    return TaskReceipt(task=await submit(call, msgspec.structs.replace(order, precondition=seen)))


def plain(manifest: RequestModel) -> dict[str, Any]:
    """Convert a manifest for the agent; refused where it holds a credential for sure."""
    found: dict[str, Any] = msgspec.to_builtins(manifest)
    no_credentials.check_values(found)
    for path, text in texts(found):
        if len(text) > 200_000:
            raise invalid(path, "the text is too long", rule="size")
    return found


def project_of(manifest: ApplicationManifest) -> str:
    project = manifest.spec.get("project", "default")
    if not isinstance(project, str) or not 0 < len(project) <= 63:
        raise invalid("manifest.spec.project", "expected the name of an AppProject", rule="type")
    return project


def _check_same(row: ApplicationRow, manifest: ApplicationManifest) -> None:
    metadata = manifest.metadata
    if metadata.name != row.name or metadata.namespace not in ("", row.namespace):
        raise invalid("manifest.metadata.name", "an application keeps its name", rule="identity")


async def _check_move(call: ApiCall, row: ApplicationRow, manifest: ApplicationManifest) -> None:
    """Into another project, or under other labels, only where one may edit there too."""
    scope = await application_scope(
        call.connection, row.agent_id, project_of(manifest), manifest.metadata.labels
    )
    name = f"application {row.subject}"
    if project_of(manifest) == row.project:
        call.require(EDIT, scope, name)
    else:
        _require_create(call, scope, name)


def _require_create(call: ApiCall, scope: ResourceScope, name: str) -> None:
    if not may_create(call.caller.bindings, EDIT, scope):
        raise DeniedError(EDIT, name)


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/applications",
        needs=EDIT,
        handler=create_application,
        takes=NewApplication,
        gives=TaskReceipt,
        status=202,
    ),
    Endpoint(
        method="PUT",
        path="/applications/{id}",
        needs=EDIT,
        handler=replace_application,
        takes=ApplicationChange,
        gives=TaskReceipt,
        status=202,
    ),
    Endpoint(
        method="DELETE",
        path="/applications/{id}",
        needs=DELETE,
        handler=delete_application,
        takes=DeleteQuery,
        gives=TaskReceipt,
        status=202,
    ),
)
