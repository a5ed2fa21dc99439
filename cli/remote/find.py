"""Find the object that a name means: NAME, NAMESPACE/NAME or AGENT/NAMESPACE/NAME.

A name of two objects is refused with the references that tell them apart: a command never picks
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import typer

from cli.output import Exit
from cli.remote import answers
from cli.remote.errors import ServiceError, ServiceNotFoundError
from cli.remote.service_client import ServiceClient
from cli.remote.service_types import (
    AgentSummary,
    ApplicationDetail,
    AppProjectDetail,
    ConnectionSummary,
)

T = TypeVar("T")
N = TypeVar("N", ApplicationDetail, AppProjectDetail)
_MOST_PARTS = 3
_LISTED = {
    "applications": "gitops app list",
    "agents": "gitops agent list",
    "appprojects": "gitops project list",
    "clusters": "gitops cluster list",
    "repositories": "gitops repo list",
}
"""What shows those that there are."""


async def application(client: ServiceClient, reference: str) -> ApplicationDetail:
    """Find an application, with the fields that the list has."""
    return await _named(client, "applications", ApplicationDetail, reference)


async def project(client: ServiceClient, reference: str) -> AppProjectDetail:
    """Find an Argo CD project, with the fields that the list has."""
    return await _named(client, "appprojects", AppProjectDetail, reference)


async def _named(client: ServiceClient, noun: str, shape: type[N], reference: str) -> N:
    agent_, namespace, name = _parts(reference)
    found = [answers.read(it, shape) async for it in client.pages(f"/{noun}", {"search": name})]
    exact = [
        it
        for it in found
        if it.name == name
        and namespace in ("", it.namespace)
        and agent_ in ("", it.agent.name, it.agent.id)
    ]
    if not exact and not namespace:
        return answers.read(await _by_id(client, noun, reference), shape)
    return _only(exact, noun, reference, [answers.full_name(it) for it in exact])


async def agent(client: ServiceClient, reference: str) -> AgentSummary:
    """Find an agent by name or id."""
    query = {"search": reference}
    found = [answers.read(it, AgentSummary) async for it in client.pages("/agents", query)]
    exact = [it for it in found if it.name == reference]
    if not exact:
        return answers.read(await _by_id(client, "agents", reference), AgentSummary)
    return _only(exact, "agents", reference, [it.id for it in exact])


async def connection(client: ServiceClient, noun: str, reference: str) -> ConnectionSummary:
    """Find a cluster or repository by NAME, AGENT/NAME, address or id."""
    found = [answers.read(it, ConnectionSummary) async for it in client.pages(f"/{noun}")]
    address = reference.rstrip("/")
    exact = [
        it
        for it in found
        if reference in (it.name, f"{it.agent.name}/{it.name}", it.id)
        or address == it.url.rstrip("/")
    ]
    return _only(exact, noun, reference, [f"{it.agent.name}/{it.name}" for it in exact])


async def one_agent(client: ServiceClient, reference: str) -> AgentSummary:
    """Find the named agent, or the only one without a name."""
    if reference:
        return await agent(client, reference)
    found = [answers.read(it, AgentSummary) async for it in client.pages("/agents")]
    if len(found) == 1:
        return found[0]
    there = ", ".join(sorted(it.name for it in found)) or "none"
    raise ServiceError(f"say whose cluster: --agent AGENT (there are: {there})", Exit.BAD_INPUT)


def path(noun: str, id_: str) -> str:
    """Make the path of an object; an id is one segment, whatever was typed."""
    return f"/{noun}/{quote(id_, safe='')}"


def _parts(reference: str) -> tuple[str, str, str]:
    parts = reference.split("/")
    if not all(parts) or len(parts) > _MOST_PARTS:
        ways = "NAME, NAMESPACE/NAME or AGENT/NAMESPACE/NAME"
        raise ServiceError(f"expected {ways}, found {reference!r}", Exit.BAD_INPUT)
    agent_, namespace, name = ["", "", *parts][-3:]
    return agent_, namespace, name


async def _by_id(client: ServiceClient, noun: str, reference: str) -> Any:
    try:
        return await client.get(path(noun, reference))
    except ServiceNotFoundError as e:
        raise _nothing(noun, reference) from e


def _only(found: Sequence[T], noun: str, reference: str, names: Sequence[str]) -> T:
    if len(found) == 1:
        return found[0]
    if not found:
        raise _nothing(noun, reference)
    ways = ", ".join(sorted(names))
    raise ServiceError(f"{reference} is the name of several: say one of {ways}", Exit.BAD_INPUT)


def _nothing(noun: str, reference: str) -> ServiceNotFoundError:
    word = "repository" if noun == "repositories" else noun[:-1]
    text = f"there is no {word} {reference}, or you have no permission to see it"
    listed = _LISTED.get(noun)
    return ServiceNotFoundError(f"{text}. See: {listed}" if listed else text, Exit.BAD_INPUT)


AppsArgument = Annotated[
    list[str] | None,
    typer.Argument(metavar="APP...", help="NAME, NAMESPACE/NAME, AGENT/NAMESPACE/NAME or an id."),
]
SelectorOption = Annotated[
    list[str] | None,
    typer.Option(
        "--selector",
        metavar="LABEL=VALUE",
        help="All applications with this label; repeated: with all of these labels.",
    ),
]


async def applications(
    client: ServiceClient, names: Sequence[str] | None, selector: Sequence[str] | None
) -> list[ApplicationDetail]:
    """Find at least one application; raises ServiceError where names and selector are unclear."""
    if bool(names) == bool(selector):
        raise ServiceError("say which: either names or --selector LABEL=VALUE", Exit.BAD_INPUT)
    if names:
        found = [await application(client, it) for it in names]
        return list({it.id: it for it in found}.values())
    query = {"label": ",".join(selector or ()), "sort": "name"}
    found = [
        answers.read(it, ApplicationDetail) async for it in client.pages("/applications", query)
    ]
    if not found:
        raise ServiceError(f"no application has {' and '.join(selector or ())}", Exit.BAD_INPUT)
    return found
