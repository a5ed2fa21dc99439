"""What may be said of a commit: facts are public, and people write anything into a message. Pure.

Mail addresses are nobody's business, and a message may quote a URL with its password.
"""

from __future__ import annotations

import re

from bus.events import Commit
from bus.redaction import masked

LONGEST_MESSAGE = 200
LONGEST_AUTHOR = 100
_MAIL = re.compile(r"<?([^\s<>@]*)@[^\s<>@]+>?")


def said_of(commit: Commit) -> Commit:
    return Commit(
        author=_cut(masked(_name(commit.author)), LONGEST_AUTHOR),
        message=_cut(masked(commit.message), LONGEST_MESSAGE),
        time=commit.time,
    )


def _name(author: str) -> str:
    """Of somebody who gave an address as his name, what stands before the `@`."""
    without = " ".join(_MAIL.sub("", author).split())
    return without or _MAIL.sub(r"\1", author).strip()


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
