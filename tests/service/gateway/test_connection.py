"""The connection as values: what it answers to frames, time and outcomes, without a socket."""

from __future__ import annotations

import msgspec
import pytest

from bus.link import (
    Ack,
    Beat,
    BucketMember,
    DownFrame,
    Fenced,
    HashBucket,
    Hello,
    Items,
    Missing,
    Root,
    Roots,
    WantBodies,
    WantBuckets,
    Welcome,
)
from service.gateway import effects as fx
from service.gateway.connection import step
from service.gateway.link_opening import OpenedLink
from service.gateway.link_state import HELLO_WITHIN, LinkState, SessionTerms, new_link
from service.gateway.sessions import SessionHolder
from service.projection.batch import BatchScope
from service.projection.writer import StoredBatch
from service.store.link_signals import LinkSignal
from tests.service.fake_agent import FakeOutbox, application

CALLER = SessionHolder(
    account_id="a", account="acme", agent_id="g", agent="prod", expires_at=1000.0
)
HELLO = Hello(account="acme", agent="prod", instance="i", epoch="e", protocol=(1, 1), version="1")
SCOPE = BatchScope(account_id="a", agent_id="g", agent="prod", environment="", region="", epoch="e")


def opened(*, quarantined: bool = False, cursor: int = 0, rate: float = 100.0) -> LinkState:
    link = new_link(CALLER, SessionTerms(items_per_second=rate), 0.0)
    link = step(link, HELLO, 0.0).link
    scope = msgspec.structs.replace(SCOPE, quarantined=quarantined)
    return step(link, OpenedLink(scope=scope, fence=1, cursor=cursor), 0.0).link


def kinds(frames: tuple[DownFrame, ...]) -> list[str]:
    return [type(frame).__name__ for frame in frames]


def test_welcome_is_the_first_frame() -> None:
    link = new_link(CALLER, SessionTerms(), 0.0)
    for value in (
        fx.ClockTick(),
        LinkSignal(agent_id="g", offer=True),
        LinkSignal(agent_id="g", cancel="t"),
    ):
        assert step(link, value, 1.0).frames == ()
    link = step(link, HELLO, 1.0).link
    stepped = step(link, OpenedLink(scope=SCOPE, fence=7, cursor=5), 1.0)
    (welcome,) = stepped.frames
    assert isinstance(welcome, Welcome)
    assert (welcome.fence, welcome.acked) == (7, 5)


def test_a_link_that_is_over_sends_nothing() -> None:
    link = step(opened(), LinkSignal(agent_id="g", revoked=True), 1.0).link
    for value in (fx.ClockTick(), Items(items=()), LinkSignal(agent_id="g", offer=True)):
        assert step(link, value, 2.0) == step(link, fx.ClockTick(), 9.0)
        assert step(link, value, 2.0).effects == ()


def test_an_acknowledgement_waits_for_the_transaction() -> None:
    outbox = FakeOutbox()
    stepped = step(opened(), Items(items=(outbox.state(application("a")),)), 1.0)
    assert stepped.frames == ()
    stored = StoredBatch(cursor=1, gap=False, quarantined=False)
    assert step(stepped.link, stored, 1.0).frames == (Ack(through=1),)


def test_a_gap_is_reported_at_most_once_in_two_seconds() -> None:
    stored = StoredBatch(cursor=3, gap=True, quarantined=False)
    first = step(opened(cursor=3), stored, 10.0)
    again = step(first.link, stored, 11.0)
    later = step(again.link, stored, 12.5)
    assert [kinds(it.frames) for it in (first, again, later)] == [
        ["Ack", "Missing"],
        ["Ack"],
        ["Ack", "Missing"],
    ]


def test_an_agent_that_sends_more_than_allowed_waits() -> None:
    outbox = FakeOutbox()
    items = tuple(outbox.state(application("a")) for _ in range(300))
    first = step(opened(rate=100.0), Items(items=items), 0.0)
    second = step(first.link, Items(items=items), 0.0)
    rested = step(second.link, Items(items=items[:1]), 60.0)
    assert (first.wait, second.wait, rested.wait) == (0.0, 2.0, 0.0)


def test_a_link_ends_after_three_missing_heartbeats() -> None:
    link = opened()
    assert step(link, fx.ClockTick(), 44.0).link.over is False
    (closed,) = step(link, fx.ClockTick(), 46.0).effects
    assert isinstance(closed, fx.CloseLink)


def test_a_link_without_hello_ends() -> None:
    link = new_link(CALLER, SessionTerms(), 0.0)
    assert step(link, fx.ClockTick(), HELLO_WITHIN + 1).link.over


def test_a_beat_is_sent_on_time_and_echoes_the_last_one() -> None:
    link = step(opened(), Beat(sent_at=5.0, echo=1.0), 14.0).link
    stepped = step(link, fx.ClockTick(), 15.0)
    assert stepped.frames == (Beat(sent_at=15.0, echo=5.0),)
    assert fx.PingAgent() in stepped.effects


def test_a_link_ends_with_its_session_unless_renewed() -> None:
    link = step(opened(), Beat(sent_at=1.0, echo=1.0), 1001.0).link
    renewed = step(link, LinkSignal(agent_id="g", extend=2000.0), 1001.0).link
    (fenced,) = step(link, fx.ClockTick(), 1001.0).frames
    assert isinstance(fenced, Fenced)
    assert fenced.retry_after > 0
    assert step(renewed, fx.ClockTick(), 1001.0).link.over is False


@pytest.mark.parametrize(("fence", "over"), [(1, False), (2, True)], ids=["own", "newer"])
def test_a_link_ends_when_a_newer_fence_is_announced(fence: int, over: bool) -> None:  # noqa: FBT001  a table
    assert step(opened(), LinkSignal(agent_id="g", fence=fence), 1.0).link.over is over


def test_roots_ahead_of_what_we_have_are_not_compared() -> None:
    stepped = step(opened(cursor=4), Roots(kinds={}, through=5), 1.0)
    assert (stepped.frames, stepped.effects) == ((Missing(after=4),), ())
    in_vain = step(stepped.link, Roots(kinds={}, through=5), 61.0)
    assert in_vain.effects == (fx.CompareRoots(kinds={}),)


def test_a_look_is_compared_when_all_buckets_are_there() -> None:
    link = opened()
    roots = {"Application": Root(root="r", count=1)}
    link = step(link, Roots(kinds=roots, through=0), 1.0).link
    asked = step(link, fx.RootsCompared(differing=("Application",), again=False), 1.0)
    (want,) = asked.frames
    assert isinstance(want, WantBuckets)
    link = asked.link
    found: list[fx.Effect] = []
    for number in want.buckets:
        member = BucketMember(subject=f"s{number}", uid="u", hash="h")
        bucket = HashBucket(
            kind="Application", bucket=number, members=(member,), through=9 - number % 2
        )
        stepped = step(link, bucket, 1.0)
        link, found = stepped.link, [*found, *stepped.effects]
    (compared,) = found
    assert isinstance(compared, fx.CompareMembers)
    assert (len(compared.members), compared.through) == (256, 8)


def test_a_bucket_nobody_asked_for_changes_nothing() -> None:
    link = opened()
    assert step(link, HashBucket(kind="Application", bucket=3, through=0), 0.0).link == link


MISSING = frozenset(f"s{n}" for n in range(11))


@pytest.mark.parametrize(
    ("missing", "known", "asked"),
    [(MISSING, 40, 0), (MISSING, 100, 11), (frozenset({"s1", "s2"}), 2, 2)],
    ids=["many", "a small part", "few"],
)
def test_many_that_are_missing_are_doubted_first(
    missing: frozenset[str], known: int, asked: int
) -> None:
    seen = fx.MembersCompared(
        kind="Application", differing=frozenset(), missing=missing, known=known
    )
    first = step(opened(), seen, 1.0)
    second = step(first.link, seen, 60.0)
    assert _asked(first.frames) == asked
    assert _asked(second.frames) == len(missing)
    assert any(isinstance(it, fx.DoubtKinds) for it in first.effects) is (asked == 0)


def test_a_second_look_that_misses_more_is_doubted_again() -> None:
    first = fx.MembersCompared(kind="K", differing=frozenset(), missing=MISSING, known=20)
    more = fx.MembersCompared(kind="K", differing=frozenset(), missing=MISSING | {"x"}, known=20)
    link = step(opened(), first, 1.0).link
    assert _asked(step(link, more, 60.0).frames) == 0


def test_only_a_quarantined_epoch_in_step_asks_to_be_believed() -> None:
    same = fx.RootsCompared(differing=(), again=False)
    assert step(opened(), same, 1.0).effects == ()
    assert step(opened(quarantined=True), same, 1.0).effects == (fx.ActivateEpoch(),)


def _asked(frames: tuple[DownFrame, ...]) -> int:
    return sum(len(it.subjects) for it in frames if isinstance(it, WantBodies))
