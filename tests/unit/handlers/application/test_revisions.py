"""Revisions of one source and of several, as one value."""

from handlers.application.revisions import Revisions
from handlers.application.status import SyncResult
from tests.unit.handlers.application.builders import REPO, application

REF = {"repoURL": REPO, "ref": "values"}
CHART = {"repoURL": REPO, "path": "chart"}


def test_one_revision_of_several_sources_is_another_value_than_that_of_one() -> None:
    one, several = SyncResult(revision="a"), SyncResult(revisions=("a",))
    assert Revisions.of(one) != Revisions.of(several)
    assert Revisions.of(one).each == Revisions.of(several).each == ("a",)


def test_no_revisions_are_false() -> None:
    assert not Revisions.of(None)
    assert not Revisions.of(SyncResult())
    assert not Revisions.of(SyncResult(revisions=("", "")))


def test_a_fact_has_the_revisions_that_it_has_room_for() -> None:
    commits, long = ("a" * 40,) * 20, ("a" * 253,) * 20
    assert Revisions.of(SyncResult(revisions=commits)).in_fact == commits
    assert Revisions.of(SyncResult(revisions=long)).in_fact == ()
    assert Revisions.of(SyncResult(revision="a")).in_fact == ()


def test_the_main_revision_is_that_of_the_first_source_that_renders() -> None:
    sources = application({"sources": [REF, CHART]}).sources
    assert Revisions.of(SyncResult(revisions=("a", "b"))).main(sources) == "b"
    assert Revisions.of(SyncResult(revision="a")).main(sources) == "a"
