"""The demo's timeline: what a fact looks like as a line."""

import io
from datetime import UTC, datetime, timedelta

from rich.console import Console

from bus.envelope import Envelope
from bus.events import Compared, RenderFailed, RevisionResolved
from bus.identity import AppKey, RepositoryKey, Revision, derived_id, new_id
from bus.status import Reason, SyncStatus
from playground.demo.screen import Timeline, showing, time_of

APP = AppKey("argocd", "shop")


def envelope(correlation: str, time: datetime, subject: str = "argocd/shop") -> Envelope:
    return Envelope(
        id=new_id(), source="x", type="x", subject=subject, time=time, correlation=correlation
    )


def compared(**counts: int) -> Compared:
    return Compared(app=APP, status=SyncStatus.OUT_OF_SYNC, revision=Revision("a" * 40), **counts)


def test_a_line_counts_from_the_beginning_of_its_chain_and_from_the_hop_before() -> None:
    chain = new_id()
    began = time_of(chain)
    assert began is not None
    timeline = Timeline()
    first = timeline.line(envelope(chain, began + timedelta(milliseconds=40)), compared())
    second = timeline.line(envelope(chain, began + timedelta(milliseconds=65)), compared())
    assert (first.after_ms, first.hop_ms) == (40, 40)
    assert (second.after_ms, second.hop_ms) == (65, 25)


def test_chains_do_not_mix() -> None:
    now, timeline = datetime.now(UTC), Timeline()
    timeline.line(envelope(derived_id("one"), now), compared())
    other = timeline.line(envelope(derived_id("two"), now), compared())
    assert (other.after_ms, other.hop_ms) == (None, None)


def test_a_line_says_what_differs_in_words() -> None:
    line = Timeline().line(envelope(new_id(), datetime.now(UTC)), compared(changed=2, extra=1))
    assert line.what == "OutOfSync: 2 changed, 1 to prune"
    assert line.about == "shop"


def test_a_failure_is_bad_and_names_its_reason() -> None:
    failed = RenderFailed(app=APP, reason=Reason.YAML_INVALID, message="a.yaml: line 3")
    line = Timeline().line(envelope(new_id(), datetime.now(UTC)), failed)
    assert line.bad
    assert line.what == "YamlInvalid: a.yaml: line 3"


def test_a_repository_is_named_by_its_last_word() -> None:
    moved = RevisionResolved(
        repository=RepositoryKey.of("http://host/demo/apps.git"),
        target_revision="main",
        revision=Revision("b" * 40),
        watching=3,
        touched=1,
    )
    line = Timeline().line(envelope(new_id(), datetime.now(UTC), "http://host/demo/apps"), moved)
    assert (line.about, line.what) == ("apps", "commit bbbbbbb touches 1 of 3")


def test_a_long_message_leaves_the_other_columns_of_the_table_whole() -> None:
    """The table below the timeline is drawn by `showing` for as long as the terminal is shown."""
    drawn = io.StringIO()
    app = {
        "metadata": {"name": "payments"},
        "status": {
            "sync": {"status": "Unknown", "revision": "b" * 40},
            "health": {"status": "Healthy"},
            "conditions": [{"message": "nothing is deployed of it: " * 20}],
        },
    }
    with showing(Console(file=drawn, force_terminal=True, width=80)) as screen:
        screen.applications([app])
    for words in ("payments", "? Unknown", "● Healthy", "bbbbbbb", "nothing is d"):
        assert words in drawn.getvalue()
