"""Writes of AppProjects by their agent: create, replace, delete.

They need the permission to edit the agent. Permission to edit applications is not enough: a project
that its own users could widen would protect nothing.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from bus.link import DeleteArguments, PutArguments, TaskArguments
from service.access.permissions import Permission
from service.access.visibility import agent_scope
from service.api.agent_tasks.task_requests import TaskReceipt, TaskRequest, submit
from service.api.agents.agents import referred_agent
from service.api.applications import manifests
from service.api.applications.appprojects import KIND, find
from service.api.connections.reported_objects import (
    ReportedObjectRow,
    precondition_of,
    reported_body,
    version_of,
)
from service.http import versioned
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, RequestModel
from service.http.fields import Id
from service.http.problem import invalid

EDIT = Permission.AGENT_EDIT


class ProjectManifest(RequestModel, frozen=True, kw_only=True):
    """An Argo CD AppProject."""

    api_version: Annotated[str, msgspec.Meta(pattern=r"^argoproj\.io/v1alpha1$")] = manifests.API
    kind: Annotated[str, msgspec.Meta(pattern="^AppProject$")] = KIND
    metadata: manifests.ManifestMetadata
    spec: dict[str, Any]


class NewAppProject(RequestModel, frozen=True, kw_only=True):
    agent: Id
    manifest: ProjectManifest


class AppProjectChange(RequestModel, frozen=True, kw_only=True):
    manifest: ProjectManifest
    version: Annotated[str, msgspec.Meta(max_length=64)] | None = None


async def create_app_project(call: ApiCall, params: NewAppProject) -> TaskReceipt:
    """Create an AppProject by its agent; refused there if it exists."""
    agent = await referred_agent(call, params.agent)
    metadata = params.manifest.metadata
    call.require(EDIT, agent_scope(agent), f"AppProject {metadata.name} of agent {agent.name}")
    order = TaskRequest(
        agent_id=agent.id,
        subject=f"{metadata.namespace or 'argocd'}/{metadata.name}",
        project=metadata.name[:63],
        arguments=PutArguments(kind=KIND, manifest=manifests.plain(params.manifest), create=True),
        action="appproject.create",
    )
    return TaskReceipt(task=await submit(call, order))


async def replace_app_project(call: ApiCall, params: AppProjectChange) -> TaskReceipt:
    """Replace spec, labels and annotations of an AppProject, by its agent.

    Refused where the AppProject was changed after the caller read it.
    """
    row = await _find(call)
    seen = version_of(reported_body(row))
    versioned.check(versioned.expected(call.request, params.version), seen)
    metadata = params.manifest.metadata
    namespace, _, name = row.subject.partition("/")
    if metadata.name != name or metadata.namespace not in ("", namespace):
        raise invalid("manifest.metadata.name", "a project keeps its name", rule="identity")
    arguments = PutArguments(kind=KIND, manifest=manifests.plain(params.manifest))
    return TaskReceipt(task=await submit(call, _order(row, arguments, "change")))


async def delete_app_project(call: ApiCall, _params: NoInput) -> TaskReceipt:
    """Delete an AppProject by its agent; refused there while an application belongs to it."""
    row = await _find(call)
    seen = call.request.headers.get("If-Match", "")
    if seen:
        versioned.check(seen, version_of(reported_body(row)))
    return TaskReceipt(task=await submit(call, _order(row, DeleteArguments(kind=KIND), "delete")))


async def _find(call: ApiCall) -> ReportedObjectRow:
    """Read an AppProject; raises 404 where it may not be seen, 403 where it may not be written."""
    row = await find(call)
    call.require(EDIT, agent_scope(row), f"{KIND} {row.subject}")
    return row


def _order(row: ReportedObjectRow, arguments: TaskArguments, verb: str) -> TaskRequest:
    return TaskRequest(
        agent_id=row.agent_id,
        subject=row.subject,
        project=row.project,
        arguments=arguments,
        precondition=precondition_of(reported_body(row)),
        action=f"appproject.{verb}",
    )


_WRITTEN: dict[str, Any] = {"needs": EDIT, "gives": TaskReceipt, "status": 202}
ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/appprojects",
        handler=create_app_project,
        takes=NewAppProject,
        **_WRITTEN,
    ),
    Endpoint(
        method="PUT",
        path="/appprojects/{id}",
        handler=replace_app_project,
        takes=AppProjectChange,
        **_WRITTEN,
    ),
    Endpoint(method="DELETE", path="/appprojects/{id}", handler=delete_app_project, **_WRITTEN),
)
