"""Every push has an end, or may still move by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from service.history.push_end import PushFact, PushOutcome, push_end

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
RESOLVED = ("revision.resolved", {"revision": "a"})
OUT = ("app.compared", {"status": "OutOfSync"})
DONE = ("operation.finished", {"phase": "Succeeded", "message": "all done"})
REFUSED = {"failed": [{"resource": "apps/Deployment/shop/web", "status": "x", "message": "no"}]}


def push_facts(*facts: tuple[str, dict[str, Any]]) -> list[PushFact]:
    return [
        PushFact(type=f"fact.{name}.v1", time=NOON + timedelta(seconds=number), body=body)
        for number, (name, body) in enumerate(facts)
    ]


@pytest.mark.parametrize(
    ("facts", "outcome", "message", "last"),
    [
        pytest.param([RESOLVED], "running", "", None, id="resolved only"),
        pytest.param([RESOLVED, OUT, DONE], "synced", "", 2, id="synced"),
        pytest.param(
            [RESOLVED, OUT, DONE, ("health.assessed", {})], "synced", "", 3, id="until healthy"
        ),
        pytest.param(
            [RESOLVED, ("manifests.failed", {"message": "a.yaml:3"})],
            "failed",
            "a.yaml:3",
            1,
            id="not rendered",
        ),
        pytest.param(
            [RESOLVED, OUT, ("resources.applied", REFUSED)],
            "failed",
            "Deployment web: no",
            2,
            id="refused and retried",
        ),
        pytest.param(
            [RESOLVED, OUT, ("resources.applied", REFUSED), DONE],
            "synced",
            "",
            3,
            id="the retry succeeded",
        ),
        pytest.param(
            [RESOLVED, OUT, ("sync.skipped", {"message": "auto-sync is off"})],
            "held",
            "auto-sync is off",
            2,
            id="waits for a person",
        ),
        pytest.param(
            [RESOLVED, ("app.compared", {"status": "Synced"})], "synced", "", 1, id="no change"
        ),
    ],
)
def test_a_push_has_an_end_and_a_reason(
    facts: list[tuple[str, dict[str, Any]]], outcome: str, message: str, last: int | None
) -> None:
    end = push_end(push_facts(*facts))
    assert (end.outcome, end.message) == (PushOutcome(outcome), message)
    assert end.time == (None if last is None else NOON + timedelta(seconds=last))
