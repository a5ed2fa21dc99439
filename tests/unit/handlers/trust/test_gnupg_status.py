"""The lines of gpg are believed only where they agree."""

from __future__ import annotations

import pytest

from handlers.trust.gnupg_status import GnupgVerdict, expiry_times, verdict
from handlers.trust.signature import SignatureState

KEY, PRIMARY = "A" * 40, "B" * 40
NEW = "NEWSIG"
GOOD = f"GOODSIG {KEY[-16:]} Ada <ada@example.org>"
VALID = f"VALIDSIG {KEY} 2026-11-23 1795400664 0 4 0 22 8 00 {PRIMARY}"


def read(*lines: str, code: int = 0) -> GnupgVerdict:
    return verdict("".join(f"[GNUPG:] {line}\n" for line in lines), code)


def test_a_good_signature_names_both_keys_and_its_end() -> None:
    ends = VALID.replace("1795400664 0 ", "1795400664 1895400664 ")
    assert read(NEW, GOOD, ends) == GnupgVerdict(SignatureState.GOOD, KEY, PRIMARY, 1_895_400_664.0)


@pytest.mark.parametrize(
    ("lines", "code", "state"),
    [
        ((NEW, GOOD), 0, SignatureState.UNREADABLE),
        ((NEW, VALID), 0, SignatureState.UNREADABLE),
        ((GOOD, VALID), 0, SignatureState.UNREADABLE),
        ((NEW, GOOD, VALID, NEW, GOOD, VALID), 0, SignatureState.UNREADABLE),
        ((NEW, GOOD, VALID, "BADSIG AA Eve"), 0, SignatureState.UNREADABLE),
        ((NEW, GOOD, VALID), 2, SignatureState.UNREADABLE),
        ((NEW, GOOD, VALID.replace(" 8 00 ", " 8 02 ")), 0, SignatureState.UNREADABLE),
        ((NEW, GOOD, VALID.replace(" 22 8 ", " 22 2 ")), 0, SignatureState.WEAK),
        ((NEW, f"EXPSIG {KEY} Ada", VALID), 0, SignatureState.EXPIRED),
        ((NEW, f"EXPKEYSIG {KEY} Ada", VALID), 0, SignatureState.KEY_EXPIRED),
        ((NEW, f"REVKEYSIG {KEY} Ada", VALID), 0, SignatureState.KEY_REVOKED),
        ((NEW, f"BADSIG {KEY} Ada"), 1, SignatureState.BAD),
        ((NEW, f"ERRSIG {KEY[-16:]} 22 8 00 1 9 {KEY}"), 2, SignatureState.KEY_UNKNOWN),
        ((NEW, f"ERRSIG {KEY[-16:]} 22 8 00 1 4 -"), 2, SignatureState.UNREADABLE),
        ((), 0, SignatureState.UNREADABLE),
    ],
)
def test_lines_that_do_not_agree_prove_nothing(
    lines: tuple[str, ...], code: int, state: SignatureState
) -> None:
    assert read(*lines, code=code).state is state


def test_a_name_cannot_pass_for_a_line() -> None:
    """What a key's owner calls himself stands in the same output."""
    text = f"gpg: [GNUPG:] {GOOD}\n [GNUPG:] {VALID}\n[GNUPG:] {NEW}\n"
    assert verdict(text, 0).state is SignatureState.UNREADABLE


def test_a_subkey_ends_with_its_primary_key() -> None:
    listing = (
        f"pub:-:255:22:{PRIMARY[-16:]}:1:2000000000::-:::scESC:\nfpr:::::::::{PRIMARY}:\n"
        f"sub:-:255:22:{KEY[-16:]}:1:::::::s:\nfpr:::::::::{KEY}:\n"
        f"pub:-:255:22:{'C' * 16}:1:::-:::scESC:\nfpr:::::::::{'C' * 40}:\n"
    )
    assert expiry_times(listing) == {PRIMARY: 2_000_000_000.0, KEY: 2_000_000_000.0}
