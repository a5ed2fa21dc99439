"""Which thing is meant by a name: an application by NAME, NAMESPACE/NAME or AGENT/NAMESPACE/NAME.

A name that two things have is refused with the ways to say which: a command never picks one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import quote

from cli.far import shapes
from cli.far.client import Far
from cli.far.errors import FarError, NotFoundError
from cli.say import Exit

T = TypeVar("T")
N = TypeVar("N", shapes.App, shapes.AppProject)
_MOST_PARTS = 3
_LISTED = {
    "applications": "gitops app list",
    "agents": "gitops agent list",
    "appprojects": "gitops project list",
}
"""What shows those that there are."""


async def application(far: Far, reference: str) -> shapes.App:
    """As the list tells it."""
    return await _named(far, "applications", shapes.App, reference)


async def project(far: Far, reference: str) -> shapes.AppProject:
    """An Argo CD project, likewise."""
    return await _named(far, "appprojects", shapes.AppProject, reference)


async def _named(far: Far, noun: str, shape: type[N], reference: str) -> N:
    agent_, namespace, name = _parts(reference)
    found = [shapes.read(it, shape) async for it in far.pages(f"/{noun}", {"search": name})]
    exact = [
        it
        for it in found
        if it.name == name
        and namespace in ("", it.namespace)
        and agent_ in ("", it.agent.name, it.agent.id)
    ]
    if not exact and not namespace:
        return shapes.read(await _by_id(far, noun, reference), shape)
    return _only(exact, noun, reference, [it.full_name for it in exact])


async def agent(far: Far, reference: str) -> shapes.Agent:
    """By name or id."""
    query = {"search": reference}
    found = [shapes.read(it, shapes.Agent) async for it in far.pages("/agents", query)]
    exact = [it for it in found if it.name == reference]
    if not exact:
        return shapes.read(await _by_id(far, "agents", reference), shapes.Agent)
    return _only(exact, "agents", reference, [it.id for it in exact])


async def one_agent(far: Far, reference: str) -> shapes.Agent:
    """The named one, or the only one there is."""
    if reference:
        return await agent(far, reference)
    found = [shapes.read(it, shapes.Agent) async for it in far.pages("/agents")]
    if len(found) == 1:
        return found[0]
    there = ", ".join(sorted(it.name for it in found)) or "none"
    raise FarError(f"say whose cluster: --agent AGENT (there are: {there})", Exit.BAD_INPUT)


def path(noun: str, id_: str) -> str:
    """An id is one segment, whatever was typed."""
    return f"/{noun}/{quote(id_, safe='')}"


def _parts(reference: str) -> tuple[str, str, str]:
    parts = reference.split("/")
    if not all(parts) or len(parts) > _MOST_PARTS:
        ways = "NAME, NAMESPACE/NAME or AGENT/NAMESPACE/NAME"
        raise FarError(f"expected {ways}, found {reference!r}", Exit.BAD_INPUT)
    agent_, namespace, name = ["", "", *parts][-3:]
    return agent_, namespace, name


async def _by_id(far: Far, noun: str, reference: str) -> Any:
    try:
        return await far.get(path(noun, reference))
    except NotFoundError as e:
        raise _nothing(noun, reference) from e


def _only(found: Sequence[T], noun: str, reference: str, names: Sequence[str]) -> T:
    if len(found) == 1:
        return found[0]
    if not found:
        raise _nothing(noun, reference)
    ways = ", ".join(sorted(names))
    raise FarError(f"{reference} is the name of several: say one of {ways}", Exit.BAD_INPUT)


def _nothing(noun: str, reference: str) -> NotFoundError:
    text = f"there is no {noun[:-1]} {reference}, or you have no permission to see it"
    listed = _LISTED.get(noun)
    return NotFoundError(f"{text}. See: {listed}" if listed else text, Exit.BAD_INPUT)
