"""The answer of GnuPG about one signature, read from the lines of its `--status-fd`. Pure.

The exit code alone is not believed, nor is one line: a good signature has exactly one NEWSIG, one
GOODSIG and one VALIDSIG of a signature over a document, and an exit code of 0. GnuPG's doc/DETAILS
describes the lines.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from handlers.trust.signature import SignatureState

_PREFIX = "[GNUPG:] "
_OUTCOMES = {
    "GOODSIG": SignatureState.GOOD,
    "EXPSIG": SignatureState.EXPIRED,
    "EXPKEYSIG": SignatureState.KEY_EXPIRED,
    "REVKEYSIG": SignatureState.KEY_REVOKED,
    "BADSIG": SignatureState.BAD,
    "ERRSIG": SignatureState.UNREADABLE,
}
_NO_PUBLIC_KEY = "9"
_BROKEN = ("1", "2", "3")
"""MD5, SHA-1 and RIPEMD-160, as OpenPGP numbers them."""
_VALIDSIG_FIELDS = 10


class SignatureClass(StrEnum):
    """What a signature says that it is of, as GnuPG writes it."""

    BINARY = "00"
    TEXT = "01"


class GnupgVerdict(msgspec.Struct, frozen=True):
    state: SignatureState
    key: str = ""
    """Fingerprint of the key that signed, or its id where no more is known."""
    primary: str = ""
    expires: float = 0.0
    """When the signature itself expires; 0 for never."""


UNREADABLE = GnupgVerdict(SignatureState.UNREADABLE)


def verdict(status: str, code: int, signed: SignatureClass = SignatureClass.BINARY) -> GnupgVerdict:
    """Read the lines that GnuPG wrote about a detached signature, and its exit code."""
    lines = [
        line.removeprefix(_PREFIX).split()
        for line in status.split("\n")
        if line.startswith(_PREFIX) and line.strip() != _PREFIX.strip()
    ]
    outcomes = [line for line in lines if line[0] in _OUTCOMES and len(line) > 1]
    begun = sum(line[0] == "NEWSIG" for line in lines)
    if len(outcomes) != 1 or begun != 1:
        return UNREADABLE
    (outcome,) = outcomes
    state, key = _OUTCOMES[outcome[0]], outcome[1].upper()
    if outcome[0] == "ERRSIG":
        unknown = len(outcome) > 6 and outcome[6] == _NO_PUBLIC_KEY
        named = outcome[7].upper() if len(outcome) > 7 and outcome[7] != "-" else key
        return GnupgVerdict(SignatureState.KEY_UNKNOWN if unknown else state, named)
    if state is SignatureState.BAD:
        return GnupgVerdict(state, key)
    found = _valid(lines, state, key, signed)
    if found.state is SignatureState.GOOD and code != 0:
        return GnupgVerdict(SignatureState.UNREADABLE, found.key, found.primary)
    return found


def _valid(
    lines: list[list[str]], state: SignatureState, key: str, signed: SignatureClass
) -> GnupgVerdict:
    """Believe a signature that fits its content as far as VALIDSIG does."""
    valid = [line for line in lines if line[0] == "VALIDSIG"]
    if len(valid) != 1 or len(valid[0]) <= _VALIDSIG_FIELDS:
        return GnupgVerdict(SignatureState.UNREADABLE, key)
    fields = valid[0]
    fingerprint, primary, digest = fields[1].upper(), fields[10].upper(), fields[8]
    if fields[9] != signed or not fields[4].isdigit():
        return GnupgVerdict(SignatureState.UNREADABLE, fingerprint, primary)
    if state is SignatureState.GOOD and digest in _BROKEN:
        return GnupgVerdict(SignatureState.WEAK, fingerprint, primary)
    return GnupgVerdict(state, fingerprint, primary, float(fields[4]))


def expiry_times(listing: str) -> dict[str, float]:
    """Read when keys expire, by fingerprint, from a listing `--with-colons`.

    Those that never do are left out. A subkey expires with its primary key at the latest.
    """
    found: dict[str, float] = {}
    primary = own = 0.0
    for line in listing.split("\n"):
        fields = line.split(":")
        if fields[0] in ("pub", "sub") and len(fields) > 6:
            own = float(fields[6]) if fields[6].isdigit() else 0.0
            if fields[0] == "pub":
                primary = own
        elif fields[0] == "fpr" and len(fields) > 9:
            times = [one for one in (primary, own) if one]
            if times:
                found[fields[9].upper()] = min(times)
    return found
