"""A subject is an address on the bus, written in one grammar. Pure.

    gt.{account}.{agent}.ask.{handler}.{shard}.{key}
    gt.{account}.{agent}.cmd.{verb}.{shard}.{key}
    gt.{account}.{agent}.fact.{noun}.{verb}.{shard}.{key}
    gt.{account}.{agent}.up.{state|fact|task|ctl}.{id}
    gt.{account}.{agent}.dead.{consumer}

Every token is escaped, so that a name may hold anything and a subject only what NATS allows in
subjects, stream names and bucket names alike. Permissions and streams are prefixes of this grammar.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

import msgspec

from bus.events import Event
from bus.events.event import subject_words
from bus.identity import Key, shard_of

ROOT = "gt"
_PLAIN = re.compile(r"[A-Za-z0-9-]+")
_SPECIAL = re.compile(rb"_(_|[0-9a-f]{2})")
_EMPTY = "_-"


class SubjectError(ValueError):
    """The text is not a subject of the grammar."""


class Branch(StrEnum):
    ASK = "ask"
    COMMAND = "cmd"
    FACT = "fact"
    UP = "up"
    DEAD = "dead"


_WORDS = {Branch.ASK: 1, Branch.COMMAND: 1, Branch.FACT: 2, Branch.UP: 2, Branch.DEAD: 1}
_SHARDED = frozenset({Branch.ASK, Branch.COMMAND, Branch.FACT})


class AgentScope(msgspec.Struct, frozen=True):
    """One agent of one account, which owns streams and subjects."""

    account: str
    agent: str

    @property
    def prefix(self) -> str:
        return f"{ROOT}.{escape(self.account)}.{escape(self.agent)}"

    def name(self, *parts: str) -> str:
        """The name of a stream or bucket, e.g. `GT-acme-prod1-ASK`.

        A `-` inside a part is escaped here, and an empty part is a lone `_`, so that no two
        scopes share a name.
        """
        words = (_dashless(part) for part in (self.account, self.agent))
        return "-".join((ROOT.upper(), *words, *parts))


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One address: `words` are the handler, the verb, or noun and verb, by its branch."""

    scope: AgentScope
    branch: Branch
    words: tuple[str, ...]
    shard: str = ""
    key: str = ""

    def __str__(self) -> str:
        tokens = (*self.words, self.shard, self.key) if self.branch in _SHARDED else self.words
        return ".".join((self.scope.prefix, self.branch, *map(escape, tokens)))

    @classmethod
    def parse(cls, text: str) -> Subject:
        """The inverse of `str`; raises SubjectError."""
        root, *tokens = text.split(".")
        if root != ROOT or len(tokens) < 4 or tokens[2] not in set(Branch):
            raise SubjectError(
                f"{text[:200]!r} is not a gitops subject: expected {ROOT}.account.agent.kind..."
            )
        branch, rest = Branch(tokens[2]), [unescape(token) for token in tokens[3:]]
        if len(rest) != _WORDS[branch] + (2 if branch in _SHARDED else 0):
            raise SubjectError(f"{text[:200]!r} has the wrong number of tokens for {branch}")
        words = tuple(rest[: _WORDS[branch]])
        shard, key = rest[-2:] if branch in _SHARDED else ("", "")
        scope = AgentScope(unescape(tokens[0]), unescape(tokens[1]))
        return cls(scope=scope, branch=branch, words=words, shard=shard, key=key)


def subject_of(scope: AgentScope, event: Event) -> str:
    return f"{_head(scope, type(event))}.{event.shard}.{event.key.token}"


def shard_filter(scope: AgentScope, event: type[Event], shard: str) -> str:
    """Match every subject of one type of event in one shard."""
    return f"{_head(scope, event)}.{shard}.*"


def head_of(subject: str) -> str:
    """Return the part of a subject that all events of its type share."""
    return subject.rsplit(".", 2)[0]


def filter_of(scope: AgentScope, event: type[Event]) -> str:
    """Match every subject of one type of event."""
    return f"{_head(scope, event)}.*.*"


def facts_about(scope: AgentScope, key: Key | None = None) -> str:
    """Match every fact, or every fact about one key."""
    prefix = f"{scope.prefix}.{Branch.FACT}"
    return f"{prefix}.*.*.{shard_of(key.token)}.{key.token}" if key else f"{prefix}.>"


def matches(pattern: str, subject: str) -> bool:
    """Match by NATS's rule: `*` is one token, `>` at the end is one or more."""
    expected, tokens = pattern.split("."), subject.split(".")
    for position, word in enumerate(expected):
        if word == ">":
            return len(tokens) > position
        if position >= len(tokens) or word not in ("*", tokens[position]):
            return False
    return len(expected) == len(tokens)


def escape(token: str) -> str:
    """Keep letters, digits and `-`; double `_`; write any other byte as `_` and two hex digits."""
    if _PLAIN.fullmatch(token):
        return token
    return "".join(map(_encoded, token.encode())) or _EMPTY


def unescape(token: str) -> str:
    """The inverse of `escape`; raises SubjectError where `token` was not made by it."""
    if _PLAIN.fullmatch(token):
        return token
    try:
        text = "" if token == _EMPTY else _SPECIAL.sub(_decoded, token.encode()).decode()
    except ValueError as error:
        raise SubjectError(f"{token[:200]!r} is not an escaped token") from error
    if escape(text) != token:
        raise SubjectError(f"{token[:200]!r} is not an escaped token")
    return text


def _dashless(part: str) -> str:
    return escape(part).replace("-", "_2d") if part else "_"


def _encoded(byte: int) -> str:
    letter = chr(byte)
    if _PLAIN.fullmatch(letter):
        return letter
    return "__" if letter == "_" else f"_{byte:02x}"


def _decoded(match: re.Match[bytes]) -> bytes:
    return b"_" if match[1] == b"_" else bytes.fromhex(match[1].decode())


@lru_cache(maxsize=256)
def _head(scope: AgentScope, event: type[Event]) -> str:
    return ".".join((scope.prefix, event.kind, *map(escape, subject_words(event))))
