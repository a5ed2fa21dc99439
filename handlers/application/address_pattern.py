"""Patterns of project rules: globs, and addresses in the form that they are compared in. Pure.

Globs are `*`, `**`, `?`, `[a-z]`, `[!a-z]`, `{a,b}`. With a separator, `*` and `?` stay inside one
segment and `**` crosses segments; without one, both stars match anything. A pattern that is
malformed matches nothing but itself.

A rule about an address is brought into the same form as the address: lower case in scheme and host,
no default port, no root dot, percent-encoding only where it is needed, no `.git`, dots resolved.
Its wildcards stay. A denial also holds against another case of the path, because to many Git hosts
that is the same repository: of two readings the one that denies is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from bus.address import DEFAULT_PORTS, AddressError, Origin, canonical_escapes


def matches(pattern: str, text: str, separator: str = "") -> bool:
    compiled = _compile(pattern, separator)
    return pattern == text if compiled is None else compiled.fullmatch(text) is not None


def is_wellformed(pattern: str) -> bool:
    """Whether a glob matches more than itself: its braces and classes are closed."""
    return _compile(pattern, "") is not None


@lru_cache(maxsize=1024)
def _compile(pattern: str, separator: str) -> re.Pattern[str] | None:
    inside = f"[^{re.escape(separator)}]" if separator else "."
    parts: list[str] = []
    depth = 0
    for piece in _GLOB_PIECE.findall(pattern):
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


_GLOB_PIECE = re.compile(r"\*\*|\*|\?|\[[!^]?[^\]]+\]|\\.|.", re.DOTALL)
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


_GLOB = re.compile(r"[*?{}\[\]!\\,]")
_SCP = re.compile(r"(?P<authority>(?:[^@:/]+@)?[^@:/]+):(?P<path>[^/].*|/.*)")
_PIECE = re.compile(r"\[[^\]/]*\]|\\.|%[0-9A-Fa-f]{2}|[^%\[\\]+|.", re.DOTALL)


def any_matches(rule: str, identities: Iterable[str], separator: str = "") -> bool:
    """Whether an allowing rule matches an address, which is known by these texts."""
    pattern = canonical_pattern(rule)
    return any(matches(pattern, one, separator) for one in identities)


def any_denied(rule: str, identities: Iterable[str], separator: str = "") -> bool:
    """Whether a denying rule (with or without its `!`) matches the address, in any letter case."""
    pattern = canonical_pattern(rule.removeprefix("!")).lower()
    return any(matches(pattern, one.lower(), separator) for one in identities)


@lru_cache(maxsize=1024)
def canonical_pattern(rule: str) -> str:
    """Bring a rule into canonical form; a rule without a scheme (`*`, `**/apps`) stays as it is."""
    scheme, separator, rest = rule.strip().partition("://")
    if not separator:
        scp = _SCP.fullmatch(rule.strip())
        if scp is None:
            return rule.strip()
        scheme, rest = "ssh", f"{scp['authority']}/{scp['path'].removeprefix('/')}"
    scheme = scheme.lower()
    cut = _end_of_authority(rest)
    return f"{scheme}://{_authority(scheme, rest[:cut])}{_path(rest[cut:])}"


def _end_of_authority(rest: str) -> int:
    """The position of the first slash outside of alternatives (`{a,b}`)."""
    depth = 0
    for position, char in enumerate(rest):
        depth += (char == "{") - (char == "}")
        if char == "/" and depth <= 0:
            return position
    return len(rest)


def _authority(scheme: str, written: str) -> str:
    user, _, server = written.rpartition("@")
    kept = f"{user}@" if user and scheme == "ssh" else ""
    try:
        canonical = str(Origin.parse(scheme, server)).partition("://")[2]
    except AddressError:
        canonical = _lowered(scheme, server)
        return kept + canonical
    return kept + canonical.replace("[", "\\[").replace("]", "\\]")


def _lowered(scheme: str, server: str) -> str:
    """Lower a host with wildcards, without its root dot and default port."""
    host, colon, port = server.lower().rpartition(":")
    if not colon:
        return port.removesuffix(".")
    if port == str(DEFAULT_PORTS.get(scheme, "")):
        return host.removesuffix(".")
    return f"{host.removesuffix('.')}:{port}"


def _path(written: str) -> str:
    kept: list[str] = []
    for segment in "".join(map(_piece, _PIECE.findall(written))).split("/"):
        if segment == "..":
            del kept[-1:]
        elif segment not in ("", "."):
            kept.append(segment)
    return "".join(f"/{segment}" for segment in kept).removesuffix(".git")


def _piece(piece: str) -> str:
    """Canonicalise one piece of a path; classes and escapes of the pattern stay."""
    if piece.startswith(("[", "\\")):
        return piece
    if piece.startswith("%"):
        decoded = _escapes(piece)
        return f"\\{decoded}" if _GLOB.fullmatch(decoded) else decoded
    return "".join(char if char.isascii() else _escapes(char) for char in piece)


def _escapes(text: str) -> str:
    try:
        return canonical_escapes(text)
    except AddressError:
        return text
