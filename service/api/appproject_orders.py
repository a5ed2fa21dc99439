"""Argo CD's projects, written by way of their agent: create, replace, delete.

Who may edit the agent may write them, and not who may edit applications: a project that could widen
itself would be no fence.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from sqlalchemy import RowMapping

from bus.link import TaskKind
from service.access.permissions import Permission
from service.api import manifests, rows, versions
from service.api.appprojects import KIND, find
from service.api.call import Call
from service.api.endpoint import Endpoint, Given, Nothing
from service.api.fields import Id
from service.api.orders import Accepted, Order, submit
from service.api.problem import invalid
from service.api.sight import agent_place
from service.store.tables import agents

EDIT = Permission.AGENT_EDIT


class ProjectManifest(Given, frozen=True, kw_only=True):
    """An Argo CD AppProject."""

    api_version: Annotated[str, msgspec.Meta(pattern=r"^argoproj\.io/v1alpha1$")] = manifests.API
    kind: Annotated[str, msgspec.Meta(pattern="^AppProject$")] = KIND
    metadata: manifests.Metadata
    spec: dict[str, Any]


class NewAppProject(Given, frozen=True, kw_only=True):
    agent: Id
    manifest: ProjectManifest


class AppProjectChange(Given, frozen=True, kw_only=True):
    manifest: ProjectManifest
    version: Annotated[str, msgspec.Meta(max_length=64)] | None = None


async def create_app_project(call: Call, given: NewAppProject) -> Accepted:
    """Have the agent create it; refused there if it exists."""
    agent = await rows.referred(call, agents, given.agent, "agent")
    metadata = given.manifest.metadata
    call.require(EDIT, agent_place(agent), f"AppProject {metadata.name} of agent {agent['name']}")
    order = Order(
        agent_id=agent["id"],
        kind=TaskKind.PUT,
        subject=f"{metadata.namespace or 'argocd'}/{metadata.name}",
        project=metadata.name[:63],
        arguments={"kind": KIND, "manifest": manifests.plain(given.manifest), "create": True},
        action="appproject.create",
    )
    return Accepted(task=await submit(call, order))


async def replace_app_project(call: Call, given: AppProjectChange) -> Accepted:
    """Have the agent replace spec, labels and annotations, if nobody did meanwhile."""
    row = await _find(call)
    versions.check(versions.expected(call.request, given.version), row["hash"])
    metadata = given.manifest.metadata
    namespace, _, name = row["subject"].partition("/")
    if metadata.name != name or metadata.namespace not in ("", namespace):
        raise invalid("manifest.metadata.name", "a project keeps its name", rule="identity")
    arguments = {"kind": KIND, "manifest": manifests.plain(given.manifest)}
    return Accepted(task=await submit(call, _order(row, TaskKind.PUT, arguments, "change")))


async def delete_app_project(call: Call, _given: Nothing) -> Accepted:
    """Have the agent delete it; refused there while an application is of it."""
    row = await _find(call)
    seen = call.request.headers.get("If-Match", "")
    if seen:
        versions.check(seen, row["hash"])
    return Accepted(task=await submit(call, _order(row, TaskKind.DELETE, {"kind": KIND}, "delete")))


async def _find(call: Call) -> RowMapping:
    """Raises 404 where it may not be seen, 403 where it may be seen but not written."""
    row = await find(call)
    call.require(EDIT, agent_place(row), f"{KIND} {row['subject']}")
    return row


def _order(row: RowMapping, kind: TaskKind, arguments: dict[str, Any], verb: str) -> Order:
    return Order(
        agent_id=row["agent_id"],
        kind=kind,
        subject=row["subject"],
        project=row["project"],
        arguments=arguments,
        precondition={"uid": row["uid"]} if row["uid"] else {},
        action=f"appproject.{verb}",
    )


_WRITTEN: dict[str, Any] = {"needs": EDIT, "gives": Accepted, "status": 202}
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
