"""The values of the ConfigMap `gitops-agent-limits`: words, switches, numbers, patterns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

_YES, _NO = ("true", "yes", "on"), ("false", "no", "off", "")
MOST_PER_MINUTE = 10_000


def names_server(pattern: str, server: str) -> bool:
    """Whether a pattern is about this server; but for a bare `*`, no wildcard crosses a slash.

    Else a path that ends like a permitted host would make every host a permitted one.
    """
    patterns, parts = pattern.split("/"), server.split("/")
    same = len(patterns) == len(parts) and all(map(fnmatchcase, parts, patterns))
    return pattern == "*" or same


def is_listed(patterns: Iterable[str], names: tuple[str, ...]) -> bool:
    """Whether some pattern matches a name, and no pattern with `!` does."""
    rules = tuple(patterns)
    denied = [one.removeprefix("!").strip() for one in rules if one.startswith("!")]
    allowed = [one for one in rules if not one.startswith("!")]
    if any(fnmatchcase(name, one) for name in names for one in denied):
        return False
    return any(fnmatchcase(name, one) for name in names for one in allowed)


def words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.replace("\n", ",").split(",") if (word := part.strip()))


def switch(data: Mapping[str, str], key: str, problems: list[str]) -> bool:
    word = data.get(key, "").strip().lower()
    if word not in (*_YES, *_NO):
        problems.append(f"{key} is neither true nor false")
    return word not in _NO


def number(data: Mapping[str, str], key: str, usual: int, problems: list[str]) -> int:
    text = data.get(key, str(usual)).strip()
    if text.isascii() and text.isdigit() and int(text) <= MOST_PER_MINUTE:
        return int(text)
    problems.append(f"{key} is no number up to {MOST_PER_MINUTE}")
    return usual
