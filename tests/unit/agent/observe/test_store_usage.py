"""A store that gets full is told once in the log, and as long as it lasts in health and metrics."""

import pytest

from agent.observe.health import StoreWatch
from agent.observe.metrics import make_metrics
from bus.jetstream.store_usage import StoreUsage


async def nothing() -> tuple[StoreUsage, ...]:
    return ()


def usage_of(used: int, *, guarded: bool = True) -> StoreUsage:
    return StoreUsage(name="GT-a-b-CMD", used=used, limit=1000, guarded=guarded)


@pytest.mark.parametrize(
    ("used", "guarded", "alarm"),
    [
        (799, True, ""),
        (800, True, "GT-a-b-CMD is 80% full (800 of 1000 bytes)"),
        (1000, True, "GT-a-b-CMD is 100% full (1000 of 1000 bytes)"),
        (1000, False, ""),
    ],
)
def test_fullness_is_an_alarm_where_it_loses_work(used: int, alarm: str, *, guarded: bool) -> None:
    metrics = make_metrics()
    watch = StoreWatch(usage=nothing, metrics=metrics)
    watch.note([usage_of(used, guarded=guarded)])
    assert watch.alarm == alarm
    text = metrics.text().decode()
    assert f'gitops_store_bytes{{store="GT-a-b-CMD"}} {used}.0' in text
    assert f"gitops_store_alarm {float(bool(alarm))}" in text


def test_an_alarm_ends_when_there_is_room_again() -> None:
    watch = StoreWatch(usage=nothing, metrics=make_metrics())
    watch.note([usage_of(900)])
    watch.note([usage_of(10)])
    assert watch.alarm == ""
