"""What is written in a commit: author, first line of the message, time. Blocking, but in memory.

Anybody may write anything into a commit: bytes that are no text, a name of a megabyte, a time that
no calendar has. What is read is cut to size here; what may be shown of it is the room's business.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pygit2

from bus.events import Commit
from bus.identity import Revision
from handlers.application.times import written

_LONGEST = 2000


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
