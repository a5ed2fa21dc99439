"""The challenge of a registry: how it wants to be logged in to (RFC 9110, 11.6.1). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum

import msgspec

_LONGEST = 4096
_PARAMETER = re.compile(r'\s*,?\s*([A-Za-z_-]{1,40})\s*=\s*(?:"([^"]*)"|([^\s,"]+))')


class LoginScheme(StrEnum):
    BASIC = "basic"
    BEARER = "bearer"


class LoginChallenge(msgspec.Struct, frozen=True):
    scheme: LoginScheme
    realm: str = ""
    service: str = ""


def challenge_of(headers: Iterable[str]) -> LoginChallenge | None:
    """Read the first challenge that can be answered; a token goes before a password."""
    found = [one for header in headers if (one := _read(header)) is not None]
    return min(found, key=lambda one: one.scheme is not LoginScheme.BEARER, default=None)


def _read(header: str) -> LoginChallenge | None:
    scheme, _, rest = header[:_LONGEST].strip().partition(" ")
    if scheme.lower() == LoginScheme.BASIC:
        return LoginChallenge(LoginScheme.BASIC)
    if scheme.lower() != LoginScheme.BEARER:
        return None
    values: dict[str, str] = {}
    at = 0
    while found := _PARAMETER.match(rest, at):
        values.setdefault(found[1].lower(), found[2] if found[2] is not None else found[3])
        at = found.end()
    realm = values.get("realm", "")
    return LoginChallenge(LoginScheme.BEARER, realm, values.get("service", "")) if realm else None
