"""The house plan holds what the rooms rely on."""

from __future__ import annotations

from typing import Any

import pytest

from bus.events import Ask, Command, CompareApp, RefreshApp, RefreshRepository, StepOperation
from bus.identity import AppKey, RepositoryKey
from bus.route import Route
from handlers import routes
from handlers.routes import Rooms, house_plan


async def room(_: Any) -> tuple[()]:
    return ()


PLAN: tuple[Route, ...] = house_plan(Rooms(**dict.fromkeys(Rooms.__slots__, room)))  # type: ignore[arg-type]


def test_every_ask_and_command_has_exactly_one_room() -> None:
    asked = [route.event for route in PLAN if issubclass(route.event, Ask | Command)]
    known = {
        one
        for one in vars(routes).values()
        if isinstance(one, type) and issubclass(one, Ask | Command)
    }
    assert len(asked) == len(set(asked))
    assert set(asked) == known == {*Ask.__subclasses__(), *Command.__subclasses__()}


def test_names_are_unique() -> None:
    names = [route.name for route in PLAN]
    assert len(names) == len(set(names))


APP = AppKey("argocd", "web")


@pytest.mark.parametrize(
    "event",
    [RefreshApp(app=APP), CompareApp(app=APP), StepOperation(app=APP)],
    ids=lambda e: e.name,
)
def test_all_that_is_about_one_application_shares_a_lane(event: Any) -> None:
    (lane,) = {route.lane(event) for route in PLAN if route.event is type(event)}
    assert lane == "app:argocd/web"


def test_a_repository_has_a_lane_of_its_own() -> None:
    (route,) = [route for route in PLAN if route.event is RefreshRepository]
    key = RepositoryKey.of("https://git.example/shop.git")
    assert route.lane(RefreshRepository(repository=key)) == "repo:https://git.example/shop.git"
