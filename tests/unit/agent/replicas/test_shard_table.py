"""Who holds which shard: as few moves as possible, never two, and never nobody."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.replicas.shard_table import (
    Holding,
    ShardTable,
    TableError,
    divided,
    read_table,
    surplus,
    with_beat,
    without,
    written_table,
    yielded,
)
from bus.identity import SHARD_NAMES, SHARDS


def table_of(*names: str) -> ShardTable:
    """Members that joined one after the other, with everything yielded that was to be."""
    table = ShardTable()
    for name in names:
        table = balanced(divided(with_beat(table, name)))
    return table


def balanced(table: ShardTable) -> ShardTable:
    for name in table.names:
        table = yielded(table, name, surplus(table, name))
    return table


def counts(table: ShardTable) -> Counter[str]:
    return Counter(it.holder for it in table.shards.values())


def test_the_first_member_holds_every_shard() -> None:
    table = table_of("one")
    assert counts(table) == {"one": SHARDS}
    assert set(table.shards) == set(SHARD_NAMES)


@pytest.mark.parametrize("members", [2, 3, 4, 5, 64])
def test_members_hold_equal_shares(members: int) -> None:
    table = table_of(*(f"m{number:02}" for number in range(members)))
    shares = counts(table).values()
    assert sum(shares) == SHARDS
    assert max(shares) - min(shares) <= 1


def test_a_newcomer_takes_no_shard_that_is_held() -> None:
    one = table_of("one")
    joined = divided(with_beat(one, "two"))
    assert counts(joined) == {"one": SHARDS}
    assert len(surplus(joined, "one")) == SHARDS // 2
    assert surplus(joined, "two") == ()


def test_only_what_moves_gets_another_term() -> None:
    before = table_of("one", "two")
    after = balanced(divided(with_beat(before, "three")))
    moved = {s for s in SHARD_NAMES if before.shards[s].holder != after.shards[s].holder}
    assert len(moved) == SHARDS // 3
    for shard in SHARD_NAMES:
        assert after.shards[shard].term == before.shards[shard].term + (shard in moved)


def test_the_shards_of_a_silent_member_go_to_the_others() -> None:
    before = table_of("one", "two", "three")
    after = divided(before, ("two",))
    assert after.names == ("one", "three")
    assert set(counts(after)) == {"one", "three"}
    kept = {shard for shard, it in before.shards.items() if it.holder != "two"}
    assert all(after.shards[shard] == before.shards[shard] for shard in kept)


def test_who_leaves_last_leaves_the_terms_behind() -> None:
    left = without(table_of("one"), "one")
    assert left.members == ()
    assert set(left.shards.values()) == {Holding("", 1)}
    assert set(table_of("one").shards.values()) == {Holding("one", 1)}
    assert set(divided(with_beat(left, "two")).shards.values()) == {Holding("two", 2)}


def test_a_shard_of_another_member_is_not_yielded() -> None:
    table = table_of("one", "two")
    theirs = table.held_by("two")
    assert yielded(table, "one", theirs) == table


def test_a_member_that_is_alone_yields_nothing() -> None:
    assert surplus(table_of("one"), "one") == ()


MOVES = st.lists(st.tuples(st.sampled_from(["join", "die", "leave"]), st.sampled_from("abcdef")))


@given(MOVES)
def test_every_shard_has_one_holder_and_terms_only_grow(moves: list[tuple[str, str]]) -> None:
    table = table_of("first")
    for move, name in moves:
        before = table
        match move:
            case "join":
                table = divided(with_beat(table, name))
            case "die":
                table = divided(table, (name,))
            case _:
                table = without(table, name)
        table = balanced(table)
        assert set(table.shards) == set(SHARD_NAMES)
        for shard, it in table.shards.items():
            assert it.holder in table.names
            changed = it.holder != before.shards[shard].holder
            assert it.term - before.shards[shard].term >= changed
        shares = [counts(table)[one] for one in table.names]
        assert max(shares) - min(shares) <= 1


def test_a_table_is_read_as_it_was_written() -> None:
    table = table_of("one", "two")
    assert read_table(written_table(table)) == table


def test_the_annotation_stays_small() -> None:
    names = (f"plumbline-agent-7d9f8c6b5-{number:05}_1" for number in range(16))
    assert len(written_table(table_of(*names))) < 8 * 1024


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"shards": {"99": ["x", 1]}}', '{"shards": {"00": ["x", "y"]}}']
)
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(TableError):
        read_table(text)
