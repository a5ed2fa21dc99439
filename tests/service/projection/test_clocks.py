"""Facts of an agent whose clock is wrong stand where they happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import update

from service.projection.batch import NOT_APART, Batch, FactRow, on_our_clock
from service.store.tables import agents, facts
from tests.service.fake_agent import FakeOutbox, connect
from tests.service.service_fixture import RunningService, open_service, settings

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NEVER = datetime.min.replace(tzinfo=UTC)
OUT_OF_RANGE = datetime(2100, 1, 1, tzinfo=UTC)


def fact(time: datetime) -> FactRow:
    return FactRow(
        event_id="e", type="t", subject="s", project="", correlation="", time=time, body={}
    )


@pytest.mark.parametrize(
    ("reported", "skew_ms", "time", "kept"),
    [
        (NOON + timedelta(hours=1), 3_600_000, NOON, NOON + timedelta(hours=1)),
        (
            NOON - timedelta(hours=2),
            -3_600_000,
            NOON - timedelta(hours=1),
            NOON - timedelta(hours=2),
        ),
        (NOON, 1_999, NOON, None),
        (NOON + timedelta(seconds=1), None, NOON + timedelta(seconds=1), None),
        (OUT_OF_RANGE, 1_999, NOON + NOT_APART, OUT_OF_RANGE),
        (OUT_OF_RANGE, None, NOON + NOT_APART, OUT_OF_RANGE),
        (OUT_OF_RANGE, -3_600_000, NOON, OUT_OF_RANGE),
        (NOON, None, NOON, None),
        (NOON, -3_600_000, NOON, NOON),
        (NEVER, 3_600_000, NEVER, NEVER),
    ],
    ids=[
        "ahead",
        "behind",
        "near enough",
        "ahead, within the error of the measurement",
        "far ahead, by a clock that is right",
        "far ahead, not measured",
        "far ahead, by a clock that is behind",
        "not measured",
        "never later than now",
        "no such time",
    ],
)
def test_a_fact_is_moved_by_what_was_measured(
    reported: datetime, skew_ms: int | None, time: datetime, kept: datetime | None
) -> None:
    (moved,) = on_our_clock(Batch(facts=(fact(reported),)), skew_ms, NOON).facts
    assert (moved.time, moved.agent_time) == (time, kept)


async def test_the_timeline_shows_both_times(database_url: str) -> None:
    async with open_service(settings(database_url)) as service:
        running_service = RunningService(service)
        identity, outbox = await running_service.enrolled(), FakeOutbox()
        async with service.dependencies.engine.begin() as connection:
            await connection.execute(update(agents).values(clock_skew_ms=3_600_000))
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            item = outbox.fact("fact.app.synced.v1", "argocd/shop", {})
            await link.put([item])
        (row,) = await running_service.rows(facts)
        reported = datetime.fromisoformat(item.time)
        assert (row.agent_time, row.time) == (
            reported,
            min(reported - timedelta(hours=1), row.received_at),
        )
        _, page = await running_service.call("GET", "/timeline")
        (shown,) = page["items"]
        assert datetime.fromisoformat(shown["agentTime"]) == reported
        assert datetime.fromisoformat(shown["time"]) == row.time


async def test_a_fact_dated_far_ahead_does_not_stay_on_top_of_the_timeline(
    database_url: str,
) -> None:
    async with open_service(settings(database_url)) as service:
        running_service = RunningService(service)
        identity, outbox = await running_service.enrolled(), FakeOutbox()
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            ahead = outbox.fact("fact.app.synced.v1", "argocd/ahead", {})
            await link.put([msgspec.structs.replace(ahead, time="2100-01-01T00:00:00Z")])
        (row,) = await running_service.rows(facts)
        assert row.time <= row.received_at + NOT_APART
        _, page = await running_service.call("GET", "/timeline")
        assert page["items"][0]["agentTime"] == "2100-01-01T00:00:00Z"
