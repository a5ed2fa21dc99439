"""Facts of an agent whose clock is wrong stand where they happened."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from service.projection.clocks import on_our_clock
from service.projection.values import Batch, FactRow
from service.store.tables import agents, facts
from tests.service.client import Outbox, connect
from tests.service.world import World, open_service, settings

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def fact(time: datetime) -> FactRow:
    return FactRow(
        event_id="e", type="t", subject="s", project="", correlation="", time=time, body={}
    )


@pytest.mark.parametrize(
    ("told", "skew_ms", "time", "kept"),
    [
        (NOON + timedelta(hours=1), 3_600_000, NOON, NOON + timedelta(hours=1)),
        (
            NOON - timedelta(hours=2),
            -3_600_000,
            NOON - timedelta(hours=1),
            NOON - timedelta(hours=2),
        ),
        (NOON, 1_999, NOON, None),
        (NOON, None, NOON, None),
        (NOON, -3_600_000, NOON, NOON),
        (datetime.min.replace(tzinfo=UTC), 3_600_000, datetime.min.replace(tzinfo=UTC), None),
    ],
    ids=["ahead", "behind", "near enough", "not measured", "never later than now", "no such time"],
)
def test_a_fact_is_moved_by_what_was_measured(
    told: datetime, skew_ms: int | None, time: datetime, kept: datetime | None
) -> None:
    (moved,) = on_our_clock(Batch(facts=(fact(told),)), skew_ms, NOON).facts
    assert (moved.time, moved.agent_time) == (time, kept)


async def test_the_timeline_shows_both_times(database_url: str) -> None:
    async with open_service(settings(database_url)) as service:
        world = World(service)
        identity, outbox = await world.enrolled(), Outbox()
        async with service.parts.engine.begin() as connection:
            await connection.execute(update(agents).values(clock_skew_ms=3_600_000))
        async with connect(identity) as link:
            await link.hello(identity, outbox.epoch)
            item = outbox.fact("fact.app.synced.v1", "argocd/shop", {})
            await link.put([item])
        (row,) = await world.rows(facts)
        told = datetime.fromisoformat(item.time)
        assert (row.agent_time, row.time) == (told, min(told - timedelta(hours=1), row.received_at))
        _, page = await world.call("GET", "/timeline")
        (shown,) = page["items"]
        assert datetime.fromisoformat(shown["agentTime"]) == told
        assert datetime.fromisoformat(shown["time"]) == row.time
