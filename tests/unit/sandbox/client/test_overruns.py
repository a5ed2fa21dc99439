"""What overran is remembered for its files, for a while, and not without bound."""

import pytest

from agent.renderer.questions import RepositoryQuestions
from handlers.render.read_set import locate, seen_by
from sandbox.client.errors import SandboxError, SandboxReason
from sandbox.client.overruns import OverrunOutcome, Overruns, RecipeKey
from tests.unit.agent.renderer.written_tree import WrittenTree

KEY = RecipeKey("shop", "d1")
ERROR = SandboxError(SandboxReason.DEADLINE_EXCEEDED, "helm took longer than 60 s")
TREE = WrittenTree({"chart/x.yaml": "a: 1"})
FILES = RepositoryQuestions(TREE, 1 << 20)
OTHER_FILES = RepositoryQuestions(WrittenTree({"chart/x.yaml": "a: 2"}), 1 << 20)
READ_SET = seen_by(TREE, "chart/x.yaml", locate(TREE, "chart/x.yaml"))


class SecondsClock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def overruns(most: int = 10) -> tuple[Overruns, SecondsClock]:
    clock = SecondsClock()
    return Overruns(most=most, seconds=60, clock=clock), clock


def test_a_failure_holds_for_the_same_files_only() -> None:
    known, _ = overruns()
    known.note(KEY, OverrunOutcome.FAILED, READ_SET, ERROR)
    assert known.failure(KEY, FILES) is ERROR
    assert known.failure(KEY, OTHER_FILES) is None
    assert not known.is_slow(KEY, FILES)


def test_a_failure_is_forgotten_after_its_time() -> None:
    known, clock = overruns()
    known.note(KEY, OverrunOutcome.FAILED, READ_SET, ERROR)
    clock.now += 60
    assert known.failure(KEY, FILES) is None
    assert not len(known)


@pytest.mark.parametrize(
    ("outcome", "same_files", "other_files"),
    [(OverrunOutcome.OPEN, True, False), (OverrunOutcome.ENDED_WELL, True, True)],
)
def test_slow_recipes(outcome: OverrunOutcome, *, same_files: bool, other_files: bool) -> None:
    known, _ = overruns()
    known.note(KEY, outcome, READ_SET)
    assert known.is_slow(KEY, FILES) is same_files
    assert known.is_slow(KEY, OTHER_FILES) is other_files
    assert known.failure(KEY, FILES) is None


def test_a_project_says_nothing_about_another_one() -> None:
    known, _ = overruns()
    known.note(KEY, OverrunOutcome.FAILED, READ_SET, ERROR)
    assert known.failure(RecipeKey("other", KEY.fingerprint), FILES) is None
    assert (known.without_end("shop"), known.without_end("other")) == (1, 0)


def test_no_more_than_the_most_are_remembered() -> None:
    known, _ = overruns(most=2)
    for name in ("a", "b", "c"):
        known.note(RecipeKey("shop", name), OverrunOutcome.FAILED, READ_SET, ERROR)
    assert len(known) == 2
    assert known.failure(RecipeKey("shop", "a"), FILES) is None
    assert known.failure(RecipeKey("shop", "c"), FILES) is ERROR
