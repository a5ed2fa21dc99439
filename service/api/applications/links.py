"""Deep links: links to other tools, which the agent evaluates from its `argocd-cm`."""

from __future__ import annotations

from typing import Annotated

import msgspec
from aiohttp import web

from bus.link import LinksArguments
from service.access.permissions import Permission
from service.api.agent_tasks.task_answers import answered, ask
from service.api.applications import applications as apps
from service.api.applications import appprojects
from service.api.applications.agent_reads import VIEW, WAIT_SECONDS
from service.api.connections.reported_objects import target_of
from service.http.call import ApiCall
from service.http.endpoint import Endpoint, NoInput, RequestModel, ResponseModel
from service.http.fields import Text


class LinksQuery(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """One object, or the application itself where none is named."""

    group: Text = ""
    kind: Text = ""
    namespace: Text = ""
    name: Annotated[str, msgspec.Meta(max_length=253)] = ""


class DeepLinkItem(ResponseModel, frozen=True, kw_only=True):
    """A link to another tool; `iconClass` is a class of Font Awesome."""

    title: str
    url: str
    description: str
    icon_class: str


class LinksAnswer(ResponseModel, frozen=True, kw_only=True):
    """The links whose conditions hold; `problems` say which cannot be made, and why."""

    items: list[DeepLinkItem]
    problems: list[str]


async def get_links(call: ApiCall, params: LinksQuery) -> web.Response:
    """List the links of an application, or of one object of it, to other tools."""
    row = await apps.find(call, call.id, VIEW)
    arguments = msgspec.convert(params, LinksArguments, from_attributes=True)
    return await answered(call, await ask(call, row, arguments, within=WAIT_SECONDS))


async def get_project_links(call: ApiCall, _params: NoInput) -> web.Response:
    """List the links of an AppProject to other tools."""
    row = await appprojects.find(call)
    arguments = LinksArguments(project=row.project)
    return await answered(call, await ask(call, target_of(row), arguments, within=WAIT_SECONDS))


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/applications/{id}/links",
        needs=Permission.APPLICATION_VIEW,
        handler=get_links,
        takes=LinksQuery,
        gives=LinksAnswer,
    ),
    Endpoint(
        method="GET",
        path="/appprojects/{id}/links",
        needs=Permission.APPLICATION_VIEW,
        handler=get_project_links,
        gives=LinksAnswer,
    ),
)
