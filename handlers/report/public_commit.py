"""The public part of a commit: facts are read by many, and a message may hold anything. Pure.

Mail addresses are left out, and URLs with passwords and other secrets in a message are masked.
"""

from __future__ import annotations

import re

from bus.events import Commit
from bus.redaction import masked

LONGEST_MESSAGE = 200
LONGEST_AUTHOR = 100
_MAIL = re.compile(r"<?([^\s<>@]*)@[^\s<>@]+>?")


def public_commit(commit: Commit) -> Commit:
    return Commit(
        author=_cut(masked(_name(commit.author)), LONGEST_AUTHOR),
        message=_cut(masked(commit.message), LONGEST_MESSAGE),
        time=commit.time,
    )


def _name(author: str) -> str:
    """The author's name; of an author known by an address only, the part before the `@`."""
    without = " ".join(_MAIL.sub("", author).split())
    return without or _MAIL.sub(r"\1", author).strip()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
