"""Which revision an application wants right now."""

from typing import Any

import pytest

from handlers.application.desired_source import desired_revision, pinned_revision
from tests.unit.handlers.application.builders import application

OPERATION = {"sync": {"revision": "c0ffee"}}


def state(phase: str) -> dict[str, Any]:
    return {"status": {"operationState": {"phase": phase, "operation": OPERATION}}}


AUTOMATED = {"sync": {"revision": "c0ffee"}, "initiatedBy": {"automated": True}}
WAITING = {"phase": "Running", "finishedAt": "2026-01-01T00:00:00Z"}


def waiting(operation: dict[str, Any]) -> dict[str, Any]:
    """Failed, and waiting for its next try."""
    return {"status": {"operationState": {**WAITING, "operation": operation}}}


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({}, "main"),
        ({"operation": OPERATION}, "c0ffee"),
        ({"operation": {"sync": {}}}, "main"),
        (state("Running"), "c0ffee"),
        (state("Terminating"), "c0ffee"),
        (state("Running") | {"operation": {"sync": {"revision": "later"}}}, "c0ffee"),
        (state("Succeeded"), "main"),
        (waiting(OPERATION), "c0ffee"),
        (waiting(AUTOMATED), "main"),
    ],
    ids=[
        "source",
        "asked for",
        "asked for anything",
        "running",
        "terminating",
        "one after another",
        "over",
        "to be tried again for a person",
        "to be tried again by policy",
    ],
)
def test_a_pin_holds_while_its_operation_lives(parts: dict[str, Any], expected: str) -> None:
    app = application(**parts)
    assert desired_revision(app) == expected
    assert pinned_revision(app) == (expected if expected != "main" else "")
