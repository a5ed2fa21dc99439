"""Which windows concern an application, and whether a sync by hand may start for all we know."""

from __future__ import annotations

from typing import Any

import pytest

from handlers.application.sync_windows import concerning, manual_sync_problem
from tests.application.build import application, project

DENY = {"kind": "deny", "schedule": "0 0 * * *", "duration": "1h"}
WINDOWS: dict[str, tuple[dict[str, Any], bool]] = {
    "the application": ({"applications": ["w*"]}, True),
    "its namespace": ({"namespaces": ["shop"]}, True),
    "its cluster as written": ({"clusters": ["https://kubernetes.*"]}, True),
    "its cluster by a name that is not written": ({"clusters": ["in-cluster"]}, False),
    "another application": ({"applications": ["api"]}, False),
    "one of two": ({"applications": ["api"], "namespaces": ["shop"]}, True),
    "both are needed": (
        {"applications": ["api"], "namespaces": ["shop"], "andOperator": True},
        False,
    ),
    "both match": ({"applications": ["web"], "namespaces": ["shop"], "andOperator": True}, True),
    "nothing is selected": ({}, False),
    "a list that is none": ({"applications": "web"}, True),
}


@pytest.mark.parametrize(("selectors", "concerns"), WINDOWS.values(), ids=WINDOWS)
def test_a_window_concerns_what_it_selects(selectors: dict[str, Any], *, concerns: bool) -> None:
    rules = project({"syncWindows": [DENY | selectors]})
    assert bool(concerning(application(), rules)) is concerns


BY_HAND = {
    "no window": ([], True),
    "one that lets through": ([DENY | {"applications": ["*"], "manualSync": True}], True),
    "one that does not": ([DENY | {"applications": ["*"]}], False),
    "one of two": (
        [
            DENY | {"applications": ["*"], "manualSync": True},
            {"kind": "allow", "namespaces": ["*"]},
        ],
        False,
    ),
    "of another application": ([DENY | {"applications": ["api"]}], True),
}


@pytest.mark.parametrize(("windows", "allowed"), BY_HAND.values(), ids=BY_HAND)
def test_a_sync_by_hand_starts_where_every_window_lets_it_through(
    windows: list[dict[str, Any]], *, allowed: bool
) -> None:
    problem = manual_sync_problem(application(), project({"syncWindows": windows}))
    assert (problem == "") is allowed
