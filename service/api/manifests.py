"""Applications written by way of their agent: create, replace, delete. The cluster is the truth.

The service stores nothing of it: the agent applies it, and what it then reports is shown.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from sqlalchemy import RowMapping

from bus.link import TaskKind
from service.access.decide import may_create
from service.access.permissions import Permission
from service.access.values import Place
from service.api import applications as apps
from service.api import clear, rows, versions
from service.api.call import Call
from service.api.commands import order_for
from service.api.decode import texts
from service.api.endpoint import Endpoint, Given
from service.api.fields import Id
from service.api.orders import Accepted, Order, submit
from service.api.problem import DeniedError, invalid
from service.api.sight import application_place
from service.store.tables import agents

EDIT = Permission.APPLICATION_EDIT
DELETE = Permission.APPLICATION_DELETE
_NAME = r"^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$"
API = "argoproj.io/v1alpha1"


class Metadata(Given, frozen=True, kw_only=True, omit_defaults=True):
    """What a writer may say of an Application or AppProject; the rest is the cluster's."""

    name: Annotated[str, msgspec.Meta(pattern=_NAME, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()


class Manifest(Given, frozen=True, kw_only=True):
    """An Argo CD Application."""

    api_version: Annotated[str, msgspec.Meta(pattern=r"^argoproj\.io/v1alpha1$")] = API
    kind: Annotated[str, msgspec.Meta(pattern="^Application$")] = "Application"
    metadata: Metadata
    spec: dict[str, Any]


class NewApplication(Given, frozen=True, kw_only=True):
    agent: Id
    manifest: Manifest


class ApplicationChange(Given, frozen=True, kw_only=True):
    manifest: Manifest
    version: Annotated[str, msgspec.Meta(max_length=64)] | None = None


class DeleteQuery(Given, frozen=True, kw_only=True):
    cascade: bool = True
    """Delete what it deployed too."""


async def create_application(call: Call, given: NewApplication) -> Accepted:
    """Have the agent create it; refused there if it exists."""
    agent = await rows.referred(call, agents, given.agent, "agent")
    metadata = given.manifest.metadata
    project = project_of(given.manifest)
    place = await application_place(call.connection, agent["id"], project, metadata.labels)
    _require_create(call, place, f"application {metadata.name}")
    manifest = plain(given.manifest)
    order = Order(
        agent_id=agent["id"],
        kind=TaskKind.PUT,
        subject=f"{metadata.namespace or 'argocd'}/{metadata.name}",
        project=project,
        arguments={"kind": "Application", "manifest": manifest, "create": True},
        action="application.create",
    )
    return Accepted(task=await submit(call, order))


async def replace_application(call: Call, given: ApplicationChange) -> Accepted:
    """Have the agent replace spec, labels and annotations, if nobody did meanwhile."""
    row = await apps.find(call, call.id, EDIT)
    body = await apps.body_of(call, row)
    versions.check(versions.expected(call.request, given.version), body.get("hash", ""))
    _check_same(row, given.manifest)
    await _check_move(call, row, given.manifest)
    arguments = {"kind": "Application", "manifest": plain(given.manifest)}
    order = order_for(row, TaskKind.PUT, arguments)
    wanted = {"uid": body["uid"]} if body.get("uid") else {}
    order = msgspec.structs.replace(order, precondition=wanted, action="application.change")
    return Accepted(task=await submit(call, order))


async def delete_application(call: Call, given: DeleteQuery) -> Accepted:
    """Have the agent delete it, with what it deployed unless cascade=false."""
    row = await apps.find(call, call.id, DELETE)
    body = await apps.body_of(call, row)
    given_version = call.request.headers.get("If-Match", "")
    if given_version:
        versions.check(given_version, body.get("hash", ""))
    arguments = {"kind": "Application", "cascade": given.cascade}
    order = order_for(row, TaskKind.DELETE, arguments)
    wanted = {"uid": body["uid"]} if body.get("uid") else {}
    return Accepted(task=await submit(call, msgspec.structs.replace(order, precondition=wanted)))


def plain(manifest: Given) -> dict[str, Any]:
    """As the agent gets it; refused where it holds a credential for sure."""
    found: dict[str, Any] = msgspec.to_builtins(manifest)
    clear.check_values(found)
    for path, text in texts(found):
        if len(text) > 200_000:
            raise invalid(path, "the text is too long", rule="size")
    return found


def project_of(manifest: Manifest) -> str:
    project = manifest.spec.get("project", "default")
    if not isinstance(project, str) or not 0 < len(project) <= 63:
        raise invalid("manifest.spec.project", "expected the name of an AppProject", rule="type")
    return project


def _check_same(row: RowMapping, manifest: Manifest) -> None:
    metadata = manifest.metadata
    if metadata.name != row["name"] or metadata.namespace not in ("", row["namespace"]):
        raise invalid("manifest.metadata.name", "an application keeps its name", rule="identity")


async def _check_move(call: Call, row: RowMapping, manifest: Manifest) -> None:
    """Into another project, or under other labels, only where one may edit there too."""
    place = await application_place(
        call.connection, row["agent_id"], project_of(manifest), manifest.metadata.labels
    )
    name = f"application {row['namespace']}/{row['name']}"
    if project_of(manifest) == row["project"]:
        call.require(EDIT, place, name)
    else:
        _require_create(call, place, name)


def _require_create(call: Call, place: Place, name: str) -> None:
    if not may_create(call.caller.bindings, EDIT, place):
        raise DeniedError(EDIT, name)


ENDPOINTS = (
    Endpoint(
        method="POST",
        path="/applications",
        needs=EDIT,
        handler=create_application,
        takes=NewApplication,
        gives=Accepted,
        status=202,
    ),
    Endpoint(
        method="PUT",
        path="/applications/{id}",
        needs=EDIT,
        handler=replace_application,
        takes=ApplicationChange,
        gives=Accepted,
        status=202,
    ),
    Endpoint(
        method="DELETE",
        path="/applications/{id}",
        needs=DELETE,
        handler=delete_application,
        takes=DeleteQuery,
        gives=Accepted,
        status=202,
    ),
)
