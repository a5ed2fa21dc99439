"""Denials: at most one record a minute for each actor, action and rule, and no count is lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from agent.loopback import free_port
from service.audit.audit_record import AuditEntry
from service.audit.denials import WINDOW, DenialRecorder, record
from service.store.database import open_engine

START = datetime(2026, 11, 21, 10, tzinfo=UTC)


def denied(seconds: float = 0, actor: str = "mira", action: str = "agent.edit") -> AuditEntry:
    return AuditEntry(
        account="a",
        id=f"{actor}{seconds}",
        time=START + timedelta(seconds=seconds),
        actor=actor,
        action=action,
        resource=f"agent/{seconds}",
        decision="denied",
    )


def test_the_first_is_recorded_and_the_rest_of_the_minute_is_one_record() -> None:
    denials = DenialRecorder()
    assert denials.note(denied(), "access") == denied()
    assert [denials.note(denied(n), "access") for n in range(1, 900)] == [None] * 899
    assert denials.due(START + timedelta(seconds=59)) == []

    (entry,) = denials.due(START + WINDOW)

    assert entry.detail["count"] == 899
    assert entry.detail["first"] == denied(1).time.isoformat()
    assert (entry.actor, entry.action, entry.resource) == ("mira", "agent.edit", "agent/899")


def test_another_actor_action_or_rule_is_recorded_at_once() -> None:
    denials = DenialRecorder()
    notes = [
        denials.note(denied(), "access"),
        denials.note(denied(actor="tom"), "access"),
        denials.note(denied(action="agent.view"), "access"),
        denials.note(denied(), "not-found"),
    ]
    assert None not in notes


def test_an_actor_without_denials_for_a_minute_is_forgotten() -> None:
    denials = DenialRecorder()
    denials.note(denied(), "access")
    assert denials.due(START + WINDOW) == []
    assert denials.note(denied(61), "access") is not None


@given(st.lists(st.tuples(st.floats(0, 30), st.sampled_from("ab")), max_size=60))
def test_the_counts_of_all_records_are_what_was_denied(steps: list[tuple[float, str]]) -> None:
    denials, now, records = DenialRecorder(), START, []
    for pause, actor in steps:
        now += timedelta(seconds=pause)
        records += denials.due(now)
        noted = denials.note(denied((now - START).total_seconds(), actor), "access")
        records += [noted] if noted else []
    records += denials.rest(now)

    assert sum(entry.detail.get("count", 1) for entry in records) == len(steps)
    for actor in "ab":
        times = [entry.time for entry in records if entry.actor == actor][:-1]
        assert all(later - earlier >= WINDOW for earlier, later in pairwise(times))


async def test_what_could_not_be_recorded_is_counted_again() -> None:
    denials = DenialRecorder()
    for second in range(4):
        denials.note(denied(second), "access")
    async with open_engine(f"postgresql://nobody@127.0.0.1:{free_port()}/none") as engine:
        await record(engine, denials, denials.due(START + WINDOW))
    denials.note(denied(70), "access")

    (entry,) = denials.rest(START + 2 * WINDOW)

    assert entry.detail["count"] == 4
    assert entry.detail["first"] == denied(1).time.isoformat()
