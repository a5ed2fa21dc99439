"""The routing table holds what the handlers rely on."""

from __future__ import annotations

from typing import Any

import pytest

from bus.events import Ask, Command, CompareApp, RefreshApp, RefreshRepository, StepOperation
from bus.identity import AppKey, RepositoryKey
from bus.route import Route
from handlers import routes as routing_table
from handlers.routes import Handlers, routes


async def handler(_: Any) -> tuple[()]:
    return ()


ROUTES: tuple[Route, ...] = routes(Handlers(**dict.fromkeys(Handlers.__slots__, handler)))  # type: ignore[arg-type]


def test_every_ask_and_command_has_exactly_one_handler() -> None:
    routed = [route.event for route in ROUTES if issubclass(route.event, Ask | Command)]
    imported = {
        value
        for value in vars(routing_table).values()
        if isinstance(value, type) and issubclass(value, Ask | Command)
    }
    assert len(routed) == len(set(routed))
    assert set(routed) == imported == {*Ask.__subclasses__(), *Command.__subclasses__()}


def test_route_names_are_unique() -> None:
    names = [route.name for route in ROUTES]
    assert len(names) == len(set(names))


APP = AppKey("argocd", "web")


@pytest.mark.parametrize(
    "event",
    [RefreshApp(app=APP), CompareApp(app=APP), StepOperation(app=APP)],
    ids=lambda e: e.name,
)
def test_all_events_of_one_application_share_a_lane(event: Any) -> None:
    (lane,) = {route.lane(event) for route in ROUTES if route.event is type(event)}
    assert lane == "app:argocd/web"


def test_a_repository_has_a_lane_of_its_own() -> None:
    (route,) = [route for route in ROUTES if route.event is RefreshRepository]
    key = RepositoryKey.of("https://git.example/shop.git")
    assert route.lane(RefreshRepository(repository=key)) == "repo:https://git.example/shop.git"
