"""What was noted with a status, what the bus has heard, and what is missing."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.events import (
    AppDeleted,
    Compared,
    Event,
    HealthAssessed,
    OperationFinished,
    OperationStarted,
    RefreshApp,
    ResourcesApplied,
    SyncSkipped,
)
from bus.events.facts import AppFact
from bus.identity import AppKey, Revision
from bus.metadata_keys import PENDING_FACTS
from bus.status import HealthStatus, OperationPhase, Reason, SyncStatus
from handlers.application.application import Application, Metadata
from handlers.application.spec import ApplicationSpec
from handlers.fact_journal import (
    NOTED,
    PublishedFact,
    PublishedFacts,
    journal_annotation,
    journal_entry,
    unpublished,
    unpublished_deletions,
)

APP = AppKey("argocd", "shop")
REVISION = Revision("4f1c2a9")
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
MORNING = NOON - timedelta(hours=3)
STARTED = OperationStarted(app=APP, operation="one", revision=REVISION)
FIRST = ResourcesApplied(app=APP, operation="one", revision=REVISION, wave=0, applied=2)
SECOND = ResourcesApplied(app=APP, operation="one", revision=REVISION, wave=1, applied=1)
FINISHED = OperationFinished(
    app=APP, operation="one", revision=REVISION, phase=OperationPhase.SUCCEEDED
)
HEALTHY = HealthAssessed(app=APP, status=HealthStatus.HEALTHY)
STORY = (STARTED, FIRST, SECOND, FINISHED, HEALTHY)


def an_app(*pending: Event, at: datetime = NOON, note: str = "") -> Application:
    text = note or journal_annotation(pending, at)
    annotations = {PENDING_FACTS.name: text} if text else {}
    metadata = Metadata(namespace=APP.namespace, name=APP.name, annotations=annotations)
    return Application(metadata=metadata, spec=ApplicationSpec())


def memory(
    *published: AppFact, at: datetime = NOON, since: datetime | None = MORNING
) -> PublishedFacts:
    return PublishedFacts.of(since, (PublishedFact(at=at, fact=fact) for fact in published))


def missing(app: Application, heard: PublishedFacts) -> list[AppFact]:
    return [fact for _, fact in unpublished(app, heard)]


@given(st.integers(min_value=0, max_value=len(STORY)))
def test_what_was_told_of_a_note_is_completed_wherever_it_was_cut(cut: int) -> None:
    assert missing(an_app(*STORY), memory(*STORY[:cut])) == list(STORY[cut:])


def test_what_was_told_before_the_note_is_no_part_of_it() -> None:
    before = HealthAssessed(app=APP, status=HealthStatus.DEGRADED)
    heard = memory(before, at=NOON - timedelta(seconds=1))
    assert missing(an_app(HEALTHY), heard) == [HEALTHY]


def test_a_note_older_than_what_was_told_since_is_not_told_again() -> None:
    """As after a backup of the cluster was brought back."""
    later = HealthAssessed(app=APP, status=HealthStatus.DEGRADED)
    assert missing(an_app(HEALTHY), memory(later, at=NOON + timedelta(hours=1))) == []


@pytest.mark.parametrize("since", [None, NOON + timedelta(seconds=1)], ids=["empty", "younger"])
def test_a_bus_that_cannot_know_is_told_nothing(since: datetime | None) -> None:
    assert missing(an_app(*STORY), memory(since=since)) == []


def test_only_what_follows_from_a_write_is_noted() -> None:
    skipped = SyncSkipped(app=APP, reason=Reason.ALREADY_SYNCED, message="")
    assert journal_annotation((skipped, RefreshApp(app=APP)), NOON) == ""
    note = journal_entry(an_app(skipped, *STORY, RefreshApp(app=APP)))
    assert note is not None
    assert (note.at, note.facts) == (NOON, STORY)


def test_a_long_story_keeps_its_beginning_and_its_end() -> None:
    note = journal_entry(an_app(STARTED, *[FIRST] * 1000, FINISHED))
    assert note is not None
    assert note.facts == (STARTED, FINISHED)


@pytest.mark.parametrize(
    ("present", "former", "expected"),
    [
        (None, NOON, [STARTED]),
        (NOON, None, [HEALTHY]),
        (NOON, MORNING, [HEALTHY]),
        (MORNING, NOON, [STARTED]),
    ],
    ids=["former only", "present only", "present later", "former later"],
)
def test_the_later_of_the_present_and_the_former_annotation_counts(
    present: datetime | None, former: datetime | None, expected: list[AppFact]
) -> None:
    """An older agent that acted again in between wrote the former name."""
    written = (
        (PENDING_FACTS.name, HEALTHY, present),
        (PENDING_FACTS.former, STARTED, former),
    )
    annotations = {name: journal_annotation([fact], at) for name, fact, at in written if at}
    metadata = Metadata(namespace=APP.namespace, name=APP.name, annotations=annotations)
    assert missing(Application(metadata=metadata, spec=ApplicationSpec()), memory()) == expected


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"at": "2026-11-21T12:00:00Z", "facts": [{"type": "fact.no.such.v1", "fact": {}}]}',
        '{"at": "2026-11-21T12:00:00Z", "facts": [{"type": "fact.health.assessed.v1", "fact": 1}]}',
        "x" * 40_000,
    ],
    ids=["no JSON", "unknown type", "wrong shape", "too long"],
)
def test_a_note_that_we_did_not_write_says_nothing(text: str) -> None:
    assert missing(an_app(note=text), memory()) == []


def test_a_note_speaks_of_its_own_application_only() -> None:
    other = HealthAssessed(app=AppKey("argocd", "other"), status=HealthStatus.HEALTHY)
    assert missing(an_app(HEALTHY, other), memory()) == [HEALTHY]


def test_who_went_without_a_word_is_told_of() -> None:
    compared = Compared(app=APP, project="team", status=SyncStatus.SYNCED, revision=REVISION)
    gone = AppDeleted(app=APP, project="team")
    (pending,) = unpublished_deletions("argocd", (), memory(compared, at=MORNING))
    assert pending == PublishedFact(at=MORNING, fact=gone)
    assert not list(unpublished_deletions("argocd", (APP,), memory(compared)))
    assert not list(unpublished_deletions("elsewhere", (), memory(compared)))


def test_who_was_told_of_is_not_told_of_again_unless_it_came_back() -> None:
    gone, back = AppDeleted(app=APP), HEALTHY
    later = PublishedFact(at=NOON + timedelta(seconds=1), fact=back)
    heard = PublishedFacts.of(
        MORNING, (PublishedFact(at=NOON, fact=HEALTHY), PublishedFact(at=NOON, fact=gone))
    )
    assert not list(unpublished_deletions("argocd", (), heard))
    heard = PublishedFacts.of(MORNING, (PublishedFact(at=NOON, fact=gone), later))
    assert len(list(unpublished_deletions("argocd", (), heard))) == 1


def test_every_noted_kind_is_one_of_the_story() -> None:
    assert {type(one) for one in STORY} == set(NOTED)
