"""What overran is remembered for its files, for a while, and not without bound."""

import pytest

from agent.sandbox.overruns import Outcome, Overruns, RecipeKey
from agent.sandbox.reasons import SandboxError, SandboxReason
from bus.identity import Digest
from handlers.render.readset import locate, seen_by
from tests.sandbox.trees import WrittenTree

KEY = RecipeKey("shop", Digest("d1"))
ERROR = SandboxError(SandboxReason.DEADLINE_EXCEEDED, "helm took longer than 60 s")
TREE = WrittenTree({"chart/x.yaml": "a: 1"})
OTHER = WrittenTree({"chart/x.yaml": "a: 2"})
READ_SET = seen_by(TREE, "chart/x.yaml", locate(TREE, "chart/x.yaml"))


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def overruns(most: int = 10) -> tuple[Overruns, Clock]:
    clock = Clock()
    return Overruns(most=most, seconds=60, clock=clock), clock


def test_a_failure_holds_for_the_same_files_only() -> None:
    known, _ = overruns()
    known.note(KEY, Outcome.FAILED, READ_SET, ERROR)
    assert known.failure(KEY, TREE) is ERROR
    assert known.failure(KEY, OTHER) is None
    assert not known.is_slow(KEY, TREE)


def test_a_failure_is_forgotten_after_its_time() -> None:
    known, clock = overruns()
    known.note(KEY, Outcome.FAILED, READ_SET, ERROR)
    clock.now += 60
    assert known.failure(KEY, TREE) is None
    assert not len(known)


@pytest.mark.parametrize(
    ("outcome", "same_files", "other_files"),
    [(Outcome.OPEN, True, False), (Outcome.ENDED_WELL, True, True)],
)
def test_slow_recipes(outcome: Outcome, *, same_files: bool, other_files: bool) -> None:
    known, _ = overruns()
    known.note(KEY, outcome, READ_SET)
    assert known.is_slow(KEY, TREE) is same_files
    assert known.is_slow(KEY, OTHER) is other_files
    assert known.failure(KEY, TREE) is None


def test_a_project_says_nothing_about_another_one() -> None:
    known, _ = overruns()
    known.note(KEY, Outcome.FAILED, READ_SET, ERROR)
    assert known.failure(RecipeKey("other", KEY.fingerprint), TREE) is None
    assert (known.without_end("shop"), known.without_end("other")) == (1, 0)


def test_no_more_than_the_most_are_remembered() -> None:
    known, _ = overruns(most=2)
    for name in ("a", "b", "c"):
        known.note(RecipeKey("shop", Digest(name)), Outcome.FAILED, READ_SET, ERROR)
    assert len(known) == 2
    assert known.failure(RecipeKey("shop", Digest("a")), TREE) is None
    assert known.failure(RecipeKey("shop", Digest("c")), TREE) is ERROR
