"""What is read of a commit, whatever its author put into it."""

from pathlib import Path

import pygit2
import pytest

from agent.git.commits import commit_of
from bus.identity import Revision

NOON = 1767268800


@pytest.fixture
def repository(tmp_path: Path) -> pygit2.Repository:
    return pygit2.init_repository(str(tmp_path), bare=True)


def committed(repository: pygit2.Repository, text: bytes) -> Revision:
    """A commit with these bytes as its author, time and message."""
    tree = repository.TreeBuilder().write()
    head = b"tree " + str(tree).encode() + b"\n"
    return Revision(str(repository.write(pygit2.enums.ObjectType.COMMIT, head + text)))


def signed(name: bytes, time: int = NOON) -> bytes:
    who = name + b" <who@example.com> " + str(time).encode() + b" +0200\n"
    return b"author " + who + b"committer " + who


def test_author_first_line_and_time_are_told(repository: pygit2.Repository) -> None:
    revision = committed(repository, signed(b"J\xc3\xb8rn") + b"\n\nFix it\n\nAt length.\n")
    found = commit_of(repository, revision)
    assert found is not None
    assert (found.author, found.message) == ("Jørn", "Fix it")
    assert found.time == "2026-01-01T12:00:00Z"


def test_bytes_that_are_no_text_do_no_harm(repository: pygit2.Repository) -> None:
    found = commit_of(repository, committed(repository, signed(b"\xff\xfe") + b"\n\x1b[31m\xff\n"))
    assert found is not None
    assert found.message.isprintable()


def test_a_message_of_a_megabyte_is_cut(repository: pygit2.Repository) -> None:
    found = commit_of(repository, committed(repository, signed(b"a") + b"\n" + b"x" * 1_000_000))
    assert found is not None
    assert len(found.message) <= 2000


def test_a_time_beyond_the_calendar_is_left_out(repository: pygit2.Repository) -> None:
    found = commit_of(repository, committed(repository, signed(b"a", 2**60) + b"\nx\n"))
    assert found is not None
    assert (found.message, found.time) == ("x", "")


@pytest.mark.parametrize("revision", ["0" * 40, "no id"])
def test_a_commit_that_is_not_there_is_none(repository: pygit2.Repository, revision: str) -> None:
    assert commit_of(repository, Revision(revision)) is None
