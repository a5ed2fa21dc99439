"""Words of facts: a revision is called what its source has."""

import pytest

from bus.events.sentences import revision_in_words


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("4f1c2a9" + "0" * 33, "commit 4f1c2a9"),
        ("1.2.0+build.5", "version 1.2.0+build.5"),
        ("sha256:" + "ab" * 32, "digest sha256:" + "ab" * 32),
    ],
)
def test_a_revision_is_named_by_its_kind(revision: str, words: str) -> None:
    assert revision_in_words(revision) == words
