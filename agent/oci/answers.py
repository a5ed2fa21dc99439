"""What a registry answers in JSON: the token for reading, and its tags. Pure."""

from __future__ import annotations

import re

import msgspec

MOST_TAGS = 200_000
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
TOKEN_SECONDS = 60
"""How long a token holds that does not say so."""


class RegistryAnswerError(ValueError):
    """The answer is none of this kind; the message says what was expected."""


class RegistryToken(msgspec.Struct, frozen=True):
    token: str = ""
    access_token: str = ""
    expires_in: int = TOKEN_SECONDS

    @property
    def text(self) -> str:
        return self.token or self.access_token


class _Tags(msgspec.Struct, frozen=True):
    tags: tuple[str, ...] | None = ()


def token_of(content: bytes) -> RegistryToken:
    """Decode a token; raises RegistryAnswerError, which quotes nothing of it."""
    try:
        found = msgspec.json.decode(content, type=RegistryToken)
    except (msgspec.DecodeError, UnicodeError):
        found = RegistryToken()
    if not found.text or not found.text.isascii() or not found.text.isprintable():
        raise RegistryAnswerError("the answer of its realm is no token")
    return found


def tags_of(content: bytes) -> tuple[str, ...]:
    """Decode a page of tags, without what no registry takes as one; raises RegistryAnswerError."""
    if content.count(b",") > MOST_TAGS:  # before a string is made of each
        raise RegistryAnswerError(f"its list of tags has more than {MOST_TAGS} on a page")
    try:
        tags = msgspec.json.decode(content, type=_Tags).tags or ()
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise RegistryAnswerError(f"its list of tags cannot be read ({error})") from error
    return tuple(one for one in tags if _TAG.fullmatch(one))
