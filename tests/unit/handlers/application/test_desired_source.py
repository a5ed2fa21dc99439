"""Which revision an application wants right now."""

from typing import Any

import pytest

from handlers.application.desired_source import (
    as_desired,
    desired_revisions,
    desired_sources,
    pinned_revisions,
    pinned_source,
)
from tests.unit.handlers.application.builders import REPO, application

TWO = [{"repoURL": REPO, "path": path, "targetRevision": "main"} for path in ("web", "api")]
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
    assert desired_revisions(app) == (expected,)
    assert pinned_revisions(app) == ((expected,) if expected != "main" else ())


def test_a_revision_that_is_not_named_is_the_target_of_its_source() -> None:
    app = application({"sources": TWO}, operation={"sync": {"revisions": ["", "c0ffee"]}})
    assert desired_revisions(app) == ("main", "c0ffee")


def test_sources_that_an_operation_names_are_desired_with_its_revisions() -> None:
    sync = {"sources": TWO, "revisions": ["a", "b"]}
    app = application(operation={"sync": sync})
    assert as_desired(app).sources == application({"sources": TWO}).sources
    assert desired_revisions(as_desired(app)) == ("a", "b")
    assert pinned_source(app) != pinned_source(application()) == ""


def test_an_operation_goes_on_with_the_sources_that_it_began_with() -> None:
    running = {
        "phase": "Running",
        "operation": {"sync": {"revisions": ["a", "b"]}},
        "syncResult": {"revisions": ["a", "b"], "sources": TWO},
    }
    more = [*TWO, TWO[0] | {"path": "more"}]
    app = application({"sources": more}, status={"operationState": running})
    assert as_desired(app).sources == application({"sources": TWO}).sources
    assert desired_revisions(as_desired(app)) == ("a", "b")
    assert pinned_source(app)
    as_before = application({"sources": TWO}, status={"operationState": running})
    assert as_desired(as_before) == as_before
    assert pinned_source(as_before) == ""


def test_an_operation_goes_on_with_its_sources_where_others_took_their_places() -> None:
    running = {
        "phase": "Running",
        "operation": {"sync": {"revisions": ["a", "b"]}},
        "syncResult": {"revisions": ["a", "b"], "sources": TWO},
    }
    status = {"operationState": running}
    began = application({"sources": TWO}).sources
    other = TWO[1] | {"repoURL": "https://git.example/three"}
    assert as_desired(application({"sources": [TWO[0], other]}, status=status)).sources == began
    retargeted = application({"sources": [TWO[0], TWO[1] | {"targetRevision": "next"}]})
    as_now = application({"sources": [TWO[0], TWO[1] | {"targetRevision": "next"}]}, status=status)
    assert as_desired(as_now).sources == retargeted.sources


def test_a_render_is_of_its_sources_whatever_their_number_and_kind() -> None:
    app = application({"sources": TWO})
    assert desired_sources(app) == desired_sources(application({"sources": TWO}))
    changed = [[TWO[0], TWO[0]], [TWO[1], TWO[0]], [TWO[0], TWO[1] | {"targetRevision": "next"}]]
    digests = {desired_sources(application({"sources": one})) for one in (TWO, *changed)}
    assert len(digests) == 4
    running = {
        "phase": "Running",
        "operation": {"sync": {"revisions": ["a", "b"]}},
        "syncResult": {"revisions": ["a", "b"], "sources": TWO},
    }
    under_way = application({"sources": changed[0]}, status={"operationState": running})
    assert desired_sources(under_way) == desired_sources(app)
