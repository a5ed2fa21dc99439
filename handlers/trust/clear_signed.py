"""ClearSigned is a message with its OpenPGP signature in one text (RFC 9580, section 7). Pure.

GnuPG is given the signed text and the signature apart. What is read of the message is read of this
very text, so nothing before, behind or between the parts can pass for signed.
"""

from __future__ import annotations

import msgspec

_BEGIN = "-----BEGIN PGP SIGNED MESSAGE-----"
_SIGNATURE = "-----BEGIN PGP SIGNATURE-----"
_END = "-----END PGP SIGNATURE-----"
_ESCAPE = "- "


class ClearSigned(msgspec.Struct, frozen=True):
    lines: tuple[str, ...]
    """Of the signed text, without its escapes and the space at their ends."""
    signature: str
    """In ASCII armour."""

    @property
    def payload(self) -> bytes:
        """The bytes that were signed."""
        return "\r\n".join(self.lines).encode()


def clear_signed(content: bytes) -> ClearSigned:
    """Take a message apart; raises ValueError, which quotes nothing of it."""
    try:
        lines = [line.rstrip(" \t\r") for line in content.decode().strip().split("\n")]
    except UnicodeDecodeError as error:
        raise ValueError("it is no text") from error
    if lines[0] != _BEGIN or lines[-1] != _END or lines.count(_SIGNATURE) != 1 or "" not in lines:
        raise ValueError("it is not one clear-signed message and nothing else")
    begin, signature = lines.index("") + 1, lines.index(_SIGNATURE)
    if begin > signature or not all(one.startswith("Hash: ") for one in lines[1 : begin - 1]):
        raise ValueError("it has other headers than Hash")
    text = lines[begin:signature]
    if any(one.startswith("-") and not one.startswith(_ESCAPE) for one in text):
        raise ValueError("it has a line that is not escaped")
    plain = tuple(one.removeprefix(_ESCAPE) for one in text)
    return ClearSigned(plain, "\n".join((*lines[signature:], "")))
