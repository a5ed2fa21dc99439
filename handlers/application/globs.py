"""Glob patterns as project rules use them: `*`, `**`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`.

With a separator, `*` and `?` stay inside one segment and `**` crosses segments; without one, both
stars match anything. A pattern that is malformed matches nothing but itself.
"""

from __future__ import annotations

import re
from functools import lru_cache


def matches(pattern: str, text: str, separator: str = "") -> bool:
    compiled = _compile(pattern, separator)
    return pattern == text if compiled is None else compiled.fullmatch(text) is not None


@lru_cache(maxsize=1024)
def _compile(pattern: str, separator: str) -> re.Pattern[str] | None:
    inside = f"[^{re.escape(separator)}]" if separator else "."
    parts: list[str] = []
    depth = 0
    for piece in _PIECE.findall(pattern):
        depth += (piece == "{") - (piece == "}")
        if depth < 0:
            return None
        parts.append(_translate(piece, inside, alternatives=depth > 0))
    if depth:
        return None
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        return None


_PIECE = re.compile(r"\*\*|\*|\?|\[[!^]?[^\]]+\]|\\.|.", re.DOTALL)
_BRACES = {"{": "(?:", "}": ")"}


def _translate(piece: str, inside: str, *, alternatives: bool) -> str:
    if piece == "**":
        return ".*"
    if piece in ("*", "?"):
        return inside + ("*" if piece == "*" else "")
    if piece in _BRACES:
        return _BRACES[piece]
    if piece == "," and alternatives:
        return "|"
    if len(piece) > 1 and piece[0] == "[":
        negated = piece[1] in "!^"
        body = piece[1 + negated : -1].replace("\\", "\\\\")
        return f"[{'^' if negated else ''}{body}]"
    return re.escape(piece[-1])
