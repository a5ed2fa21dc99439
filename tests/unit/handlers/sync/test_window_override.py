"""The override of a closed sync window: whose, with what, and only where the owner permits it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from handlers.application.application import Application
from handlers.application.spec import InitiatedBy, Operation
from handlers.control_plane.governance import OVERRIDE_WINDOW
from handlers.control_plane.policy import read_policy
from handlers.sync.window_override import closed_window
from tests.unit.handlers.application.builders import application

CLOSED = "a sync window forbids it"


@dataclass(frozen=True)
class OverrideOwner:
    problem: str = ""

    def window_override_problem(self, _app: Application) -> str:
        return self.problem


def operation(reason: str = "payments are down", *, automated: bool = False) -> Operation:
    info = ({"name": OVERRIDE_WINDOW, "value": reason},)
    return Operation(info=info, initiated_by=InitiatedBy(automated=automated))


def test_an_operation_with_a_reason_passes_where_the_owner_permits_it() -> None:
    assert closed_window(application(), operation(), CLOSED, OverrideOwner()) == ""


@pytest.mark.parametrize("reason", ["", "  "])
def test_without_a_reason_the_window_stays_closed(reason: str) -> None:
    assert closed_window(application(), operation(reason), CLOSED, OverrideOwner()) == CLOSED


def test_what_the_owner_says_is_told_beside_the_window() -> None:
    found = closed_window(application(), operation(), CLOSED, OverrideOwner("not here"))
    assert CLOSED in found
    assert "not here" in found


def test_an_automated_operation_has_no_override() -> None:
    found = closed_window(application(), operation(automated=True), CLOSED, OverrideOwner())
    assert CLOSED in found


POLICIES = {
    "none": (None, "no ConfigMap"),
    "silent": ({}, "overrideWindow"),
    "broken": ({"overrideWindow": "2"}, "cannot be understood"),
    "permits": ({"overrideWindow": "true"}, ""),
}


@pytest.mark.parametrize(("data", "words"), POLICIES.values(), ids=POLICIES)
def test_only_the_owners_word_permits_it(data: dict[str, str] | None, words: str) -> None:
    problem = read_policy(data).window_override_problem()
    assert words in problem
    assert bool(problem) is bool(words)
