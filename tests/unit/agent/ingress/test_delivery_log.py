"""Deliveries are logged one by one as long as they are few; no flood of them fills the disk."""

from __future__ import annotations

from structlog.testing import capture_logs

from agent.ingress.server import DeliveryLog
from agent.ingress.webhooks.delivery import DeliveryOutcome


def test_a_flood_has_sixty_lines_a_minute_and_its_count_is_told() -> None:
    now = 0.0
    deliveries = DeliveryLog(now=lambda: now)
    with capture_logs() as logs:
        for _ in range(1000):
            deliveries(DeliveryOutcome.ACCEPTED, {"ref": "refs/heads/main"})
        now = 60.0
        deliveries(DeliveryOutcome.ACCEPTED, {"ref": "refs/heads/main"})

    assert len(logs) == 61
    assert [line.get("unlogged") for line in logs] == [None] * 60 + [940]
    assert logs[-1]["ref"] == "refs/heads/main"


def test_a_flood_of_one_outcome_hides_no_other() -> None:
    deliveries = DeliveryLog(lines=1, now=lambda: 0.0)
    with capture_logs() as logs:
        deliveries(DeliveryOutcome.IGNORED, {})
        deliveries(DeliveryOutcome.IGNORED, {})
        deliveries(DeliveryOutcome.ACCEPTED, {})

    assert [line["outcome"] for line in logs] == ["ignored", "accepted"]
