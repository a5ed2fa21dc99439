"""Patterns of addresses, as the rules of a project spell them, in the form of canonical addresses.

A rule is brought into the same form as what it is held against: lower case in scheme and host, no
default port, no root dot, percent-encoding only where it is needed, no `.git`, dots resolved. Its
wildcards stay. A denial also holds against another case of the path, because to many Git hosts that
is the same repository: of two readings the one that denies is taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from bus.address import DEFAULT_PORTS, AddressError, Origin, canonical_escapes
from handlers.application.globs import matches

_GLOB = re.compile(r"[*?{}\[\]!\\,]")
_SCP = re.compile(r"(?P<authority>(?:[^@:/]+@)?[^@:/]+):(?P<path>[^/].*|/.*)")
_PIECE = re.compile(r"\[[^\]/]*\]|\\.|%[0-9A-Fa-f]{2}|[^%\[\\]+|.", re.DOTALL)


def any_matches(rule: str, identities: Iterable[str], separator: str = "") -> bool:
    """Whether an allowance speaks of an address that is known by these texts."""
    pattern = canonical_pattern(rule)
    return any(matches(pattern, one, separator) for one in identities)


def any_denied(rule: str, identities: Iterable[str], separator: str = "") -> bool:
    """Whether a denial (`!` or not before it) speaks of the address, in any case of letters."""
    pattern = canonical_pattern(rule.removeprefix("!")).lower()
    return any(matches(pattern, one.lower(), separator) for one in identities)


@lru_cache(maxsize=1024)
def canonical_pattern(rule: str) -> str:
    """A rule without a scheme (`*`, `**/apps`) stays as it is."""
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
    """The first slash that stands in no alternative."""
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
    """A host with wildcards."""
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
    """Classes and escapes of the pattern stay; so does what is no address in any case."""
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
