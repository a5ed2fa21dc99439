"""When a replica is silent, as another one sees it."""

from agent.replicas.beats import Beats
from agent.replicas.shard_table import Member

ONE = Member("one", 7)


def looked(beats: Beats, until: float, member: Member = ONE, since: float = 0.0) -> tuple[str, ...]:
    """Look every second; return who is silent at the last look."""
    found: tuple[str, ...] = ()
    while since <= until:
        found = beats.silent([member], since)
        since += 1
    return found


def test_a_member_without_a_new_beat_is_silent_after_the_duration() -> None:
    assert looked(Beats(12), until=12) == ()
    assert looked(Beats(12), until=13) == ("one",)


def test_a_new_beat_begins_the_time_anew() -> None:
    beats = Beats(12)
    looked(beats, until=11)
    assert looked(beats, until=23, member=Member("one", 8), since=12) == ()
    assert looked(beats, until=25, member=Member("one", 8), since=24) == ("one",)


def test_who_did_not_look_has_not_seen_the_silence() -> None:
    """The API server was away for all: nobody is replaced because nobody could write."""
    beats = Beats(12)
    looked(beats, until=3)
    assert beats.silent([ONE], 60) == ()
    assert looked(beats, until=72, since=61) == ()
    assert looked(beats, until=73, since=73) == ("one",)


def test_a_member_that_is_new_is_not_silent() -> None:
    beats = Beats(12)
    looked(beats, until=13)
    assert beats.silent([Member("two", 1), Member("one", 8)], 14) == ()


def test_nobody_is_silent_where_nobody_is() -> None:
    assert Beats(12).silent([], 100) == ()
