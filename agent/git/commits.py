"""Commits: what people read of one, and the paths that differ between two.

Reading blocks, but in memory. Anybody may write anything into a commit: bytes that are no text, a
name of a megabyte, a time that no calendar has. What is read is cut to size here; what may be shown
of it is decided by the handlers.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pygit2

from bus.events import Commit
from bus.identity import Revision
from handlers.application.times import written
from handlers.ports.branches import CommitDetails

_LONGEST = 2000
_LONGEST_MESSAGE = 64 * 1024


def commit_of(repository: pygit2.Repository, revision: Revision) -> Commit | None:
    try:
        found = repository.get(revision)
    except ValueError:
        return None
    return _read(found) if isinstance(found, pygit2.Commit) else None


def _read(found: pygit2.Commit) -> Commit:
    return Commit(
        author=_text(found.author.raw_name),
        message=_text(_first_line(found.raw_message)),
        time=_time(found.commit_time),
    )


def _first_line(message: bytes) -> bytes:
    """As Git prints it: empty lines before it do not count."""
    return message.strip().partition(b"\n")[0]


def _text(raw: bytes) -> str:
    text = raw[:_LONGEST].decode("utf-8", "replace")
    return "".join(char if char.isprintable() else " " for char in text).strip()


def _time(seconds: int) -> str:
    try:
        return written(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return ""


def details_of(repository: pygit2.Repository, revision: Revision) -> CommitDetails | None:
    """Read the whole commit; what is no UTF-8 becomes U+FFFD."""
    try:
        found = repository.get(revision)
    except ValueError:
        return None
    return _details(found) if isinstance(found, pygit2.Commit) else None


def _details(found: pygit2.Commit) -> CommitDetails:
    author = found.author
    return CommitDetails(
        author_name=_decoded(author.raw_name),
        author_email=_decoded(author.raw_email),
        time=_local_time(author.time, author.offset),
        message=_decoded(found.raw_message[:_LONGEST_MESSAGE]),
    )


def _decoded(raw: bytes) -> str:
    return raw.decode("utf-8", "replace")


def _local_time(seconds: int, minutes: int) -> str:
    try:
        zone = timezone(timedelta(minutes=minutes))
        return datetime.fromtimestamp(seconds, zone).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""


def changed_paths(repository: pygit2.Repository, before: str, after: str) -> frozenset[str] | None:
    """Name the files, symlinks and submodules that differ between two trees; None for a bad tree.

    libgit2 compares object ids, so an equal subtree costs one comparison. A rename is one path that
    went and one that came, which is what a reader of either path wants to know. Odd bytes of a name
    become U+FFFD.
    """
    try:
        difference = _tree(repository, before).diff_to_tree(_tree(repository, after))
        sides = (side for it in difference.deltas for side in (it.old_file, it.new_file))
        return frozenset(side.raw_path.decode(errors="replace") for side in sides)
    except (pygit2.GitError, KeyError, ValueError):
        return None


def _tree(repository: pygit2.Repository, oid: str) -> pygit2.Tree:
    found = repository[oid]
    if not isinstance(found, pygit2.Tree):
        raise ValueError(f"{oid} is no tree")  # noqa: TRY004  caught here
    return found
