"""Whatever the link drops, doubles, delays or turns round: in the end both sides are in step."""

from collections.abc import Sequence

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.bridge.connection.uplink import Uplink
from bus.jetstream.outbox import StoredEntry
from bus.link import ItemKind, LinkItem


def stored(sequence: int) -> StoredEntry:
    item = LinkItem(
        sequence=0, before=0, kind=ItemKind.FACT, type="f", id=str(sequence), subject="s", time=""
    )
    return StoredEntry(sequence=sequence, data=msgspec.json.encode(item))


class AcknowledgingService:
    """The service as far as sequences go: takes what follows, complains about gaps."""

    def __init__(self) -> None:
        self.cursor = 0
        self.taken: list[int] = []

    def hear(self, items: Sequence[LinkItem]) -> tuple[str, int]:
        for item in items:
            if item.sequence <= self.cursor:
                continue
            if item.before > self.cursor:
                return "missing", self.cursor
            self.cursor = item.sequence
            self.taken.append(item.sequence)
        return "ack", self.cursor


ENTRIES = st.lists(st.integers(1, 60), unique=True, min_size=1).map(sorted)
FATES = st.lists(st.sampled_from(["pass", "drop", "twice", "late"]), max_size=60)


@settings(max_examples=400, deadline=None)
@given(ENTRIES, FATES, FATES, st.integers(1, 9))
def test_every_order_of_losses_ends_in_step(
    entries: list[int], up: list[str], down: list[str], window: int
) -> None:
    service, uplink, now = AcknowledgingService(), Uplink(acked=0, window=window), 0.0
    fates, answers = list(up), list(down)
    late: list[tuple[LinkItem, ...]] = []
    for _ in range(600):
        now += 5.0
        uplink.overdue(now)
        after = [one for one in entries if one > uplink.cursor][: min(4, uplink.free)]
        items = uplink.take([stored(one) for one in after], now)
        fate = fates.pop(0) if fates else "pass"
        arriving = {"pass": [items], "drop": [], "twice": [items, items], "late": []}[fate]
        if fate == "late":
            late.append(items)
        elif late:
            arriving = [*arriving, late.pop(0)]
        for batch in arriving:
            kind, value = service.hear(batch)
            if answers and answers.pop(0) == "drop":
                continue
            if kind == "ack":
                uplink.ack(value, now)
            else:
                uplink.rewind(value, now)
        if service.cursor == entries[-1] == uplink.acked and uplink.is_acknowledged:
            break
    assert service.taken == entries
    assert (uplink.acked, uplink.is_acknowledged) == (entries[-1], True)


def test_the_window_bounds_what_is_under_way() -> None:
    uplink = Uplink(acked=0, window=3)
    uplink.take([stored(1), stored(2), stored(3)], 0)
    assert uplink.free == 0
    uplink.ack(2, 1)
    assert uplink.free == 2


def test_each_item_names_the_one_before_it() -> None:
    items = Uplink(acked=4, window=9).take([stored(7), stored(9)], 0)
    assert [(item.before, item.sequence) for item in items] == [(4, 7), (7, 9)]


def test_an_acknowledgement_of_what_was_never_sent_is_ignored() -> None:
    uplink = Uplink(acked=0, window=3)
    uplink.take([stored(1)], 0)
    uplink.ack(99, 0)
    assert (uplink.acked, uplink.is_acknowledged) == (0, False)


def test_an_unreadable_entry_is_left_out_and_not_in_the_way() -> None:
    uplink = Uplink(acked=0, window=3)
    items = uplink.take([StoredEntry(sequence=1, data=b"{"), stored(2)], 0)
    assert [(item.before, item.sequence) for item in items] == [(0, 2)]
    assert uplink.cursor == 2
