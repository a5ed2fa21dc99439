from collections.abc import Sequence

import pytest

from bus.events import Event
from bus.events.event import event_types
from bus.events.examples import example_of
from bus.route import Route
from bus.subjects import AgentScope, matches, subject_of
from bus.topology import Sizes, bucket_stream, buckets, consumer, stream_names, streams

SCOPE = AgentScope("acme", "prod1")


async def handler(event: Event) -> Sequence[Event]:
    return (event,)


def test_streams_are_named_after_account_and_agent() -> None:
    assert [plan.name for plan in streams(SCOPE)] == [
        f"GT-acme-prod1-{kind}" for kind in ("ASK", "CMD", "FACT", "UP", "DEAD")
    ]


@pytest.mark.parametrize("event", event_types())
def test_every_event_has_one_stream_and_its_consumer_reads_that(event: type[Event]) -> None:
    subject = subject_of(SCOPE, example_of(event))
    homes = [plan.name for plan in streams(SCOPE) if matches(plan.subjects[0], subject)]
    route = Route(name="handler", event=event, handler=handler, lane=str)
    plan = consumer(SCOPE, route, ack_wait=30)
    assert homes == [plan.stream]
    assert matches(plan.subject, subject)


def test_only_asks_and_reports_are_merged() -> None:
    merged = {plan.name[-3:]: plan.latest_only for plan in streams(SCOPE)}
    assert merged == {"ASK": True, "CMD": False, "ACT": False, "-UP": True, "EAD": False}


def test_facts_stay_for_72_hours_and_dead_letters_for_14_days() -> None:
    ages = {p.name[-4:]: p.max_age for p in streams(SCOPE) if p.max_age}
    assert ages == {"FACT": 72 * 3600, "DEAD": 14 * 86400}


def test_commands_and_reports_are_refused_rather_than_dropped_when_their_stream_is_full() -> None:
    assert [p.name[-3:] for p in streams(SCOPE) if p.refuse_when_full] == ["CMD", "-UP"]


def test_a_report_may_be_larger_than_an_event() -> None:
    sizes = {plan.name[-3:]: plan.max_message_bytes for plan in streams(SCOPE)}
    assert sizes["-UP"] > 256 * 1024 > sizes["ACT"]


def test_two_agents_share_no_name() -> None:
    other = AgentScope("acme", "prod2")
    names = [p.name for scope in (SCOPE, other) for p in (*streams(scope), *buckets(scope))]
    assert len(set(names)) == len(names)


def test_each_stream_has_the_size_that_was_chosen_for_it() -> None:
    sizes = Sizes(asks=1, commands=2, facts=3, reports=4, dead_letters=5)
    assert [plan.max_bytes for plan in streams(SCOPE, sizes)] == [1, 2, 3, 4, 5]


def test_by_default_an_agent_reserves_half_a_gibibyte() -> None:
    """What docs/settings.md says, and the chart's volume of 5 GiB is for."""
    assert sum(plan.max_bytes for plan in (*streams(SCOPE), *buckets(SCOPE))) == 512 * 1024 * 1024


def test_nothing_is_without_a_size() -> None:
    assert all(plan.max_bytes > 0 for plan in (*streams(SCOPE), *buckets(SCOPE)))
    names = {plan.name for plan in streams(SCOPE)}
    kept = {bucket_stream(plan.name) for plan in buckets(SCOPE)}
    assert set(stream_names(SCOPE)) == names | kept
