"""GnuPG keys of the ConfigMap `argocd-gpg-keys-cm` (key id -> armoured key), described. Pure.

The format is that of RFC 9580. Only what a list shows is read: the packet of the key itself and
its first user id. Signatures are verified by GnuPG; here they are only brought into the form that
it is given.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator, Mapping

import msgspec

from bus.link.kinds import KEY
from handlers.trust.trusted import Trusted

_KEY_BLOCK, _SIGNATURE_BLOCK = "PUBLIC KEY BLOCK", "SIGNATURE"
_SIGNATURE, _SECRET_KEY, _PUBLIC_KEY, _USER_ID = 2, 5, 6, 13
_ALGORITHMS = {1: "rsa", 17: "dsa", 19: "ecdsa", 22: "ed25519", 27: "ed25519", 28: "ed448"}
_MAIL = re.compile(r"\s*<[^>]*>|\S+@\S+")
_LONG_ID = 16


class GnupgKey(msgspec.Struct, frozen=True, kw_only=True):
    fingerprint: str
    """Hexadecimal, upper case."""
    key_id: str
    algorithm: str
    owner: str
    """Without the mail address."""


def gnupg_keys(data: Mapping[str, str]) -> Iterator[Trusted]:
    for key_id, armoured in sorted(data.items()):
        yield _described(key_id, armoured)


def sound_keys(data: Mapping[str, str]) -> Iterator[bytes]:
    """Yield the keys whose entries have no problem, without their armour."""
    for key_id, armoured in sorted(data.items()):
        if not _described(key_id, armoured).problem:
            yield _unarmoured(armoured, _KEY_BLOCK)


def detached_signature(armoured: str) -> bytes:
    """Take the armour off one signature; raises ValueError for anything else, or more than one."""
    try:
        raw = _unarmoured(armoured, _SIGNATURE_BLOCK)
        tags = [tag for tag, _ in _packets(raw)]
    except (binascii.Error, IndexError) as error:
        raise ValueError("the signature is cut off or damaged") from error
    if tags != [_SIGNATURE]:
        raise ValueError("it is not one signature and nothing else")
    return raw


def public_key(armoured: str) -> GnupgKey:
    """Read a public key; raises ValueError, which quotes nothing of it."""
    try:
        packets = list(_packets(_unarmoured(armoured, _KEY_BLOCK)))
    except (binascii.Error, IndexError) as error:
        raise ValueError("the key is cut off or damaged") from error
    if not packets or packets[0][0] != _PUBLIC_KEY:
        raise ValueError("it does not begin with a public key")
    if any(tag == _SECRET_KEY for tag, _ in packets):
        raise ValueError("it holds a private key")
    if sum(tag == _PUBLIC_KEY for tag, _ in packets) > 1:
        raise ValueError("it holds several keys; give each an entry of its own")
    return _key(packets[0][1], next((body for tag, body in packets if tag == _USER_ID), b""))


def key_id(raw: bytes) -> str:
    """Return the id of a key that was read before."""
    return _key(next(body for _, body in _packets(raw)), b"").key_id


def _unarmoured(text: str, block: str) -> bytes:
    """Decode the armour, without its headers (they end with an empty line) and checksum."""
    _, begin, rest = text.partition(f"-----BEGIN PGP {block}-----")
    inner, end, _ = rest.partition(f"-----END PGP {block}-----")
    if not begin or not end:
        raise ValueError(f"no ASCII-armoured PGP {block.lower()}")
    lines = [line.strip() for line in inner.splitlines()[1:]]
    body = lines[lines.index("") + 1 :] if "" in lines else lines
    return base64.b64decode("".join(line for line in body if line[:1] != "="), validate=True)


def _described(key_id: str, armoured: str) -> Trusted:
    try:
        key = public_key(armoured)
    except ValueError as error:
        return Trusted(kind=KEY.name, name=key_id, key_id=key_id, problem=str(error))
    problem = "" if key.key_id.endswith(key_id.upper()) else f"it is the key {key.key_id}"
    return Trusted(
        kind=KEY.name,
        name=key_id,
        key_id=key.key_id,
        type=key.algorithm,
        fingerprint=key.fingerprint,
        info=key.owner,
        problem=problem,
    )


def _key(body: bytes, user_id: bytes) -> GnupgKey:
    if len(body) < 8:
        raise ValueError("the key is cut off or damaged")
    if body[0] == 4:
        fingerprint = hashlib.sha1(b"\x99" + len(body).to_bytes(2, "big") + body)  # noqa: S324  the specification's own
        digest = fingerprint.hexdigest().upper()
        key_id = digest[-_LONG_ID:]
    elif body[0] == 6:
        digest = hashlib.sha256(b"\x9b" + len(body).to_bytes(4, "big") + body).hexdigest().upper()
        key_id = digest[:_LONG_ID]
    else:
        raise ValueError(f"a key of version {body[0]}, which is not read here")
    owner = _MAIL.sub("", user_id.decode(errors="replace")).strip()
    return GnupgKey(fingerprint=digest, key_id=key_id, algorithm=_algorithm(body), owner=owner)


def _algorithm(body: bytes) -> str:
    word = _ALGORITHMS.get(body[5], "unknown")
    return f"rsa{int.from_bytes(body[6:8], 'big')}" if word == "rsa" and body[0] == 4 else word


def _packets(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and body of each packet; raises IndexError where the data ends too early."""
    at = 0
    while at < len(raw):
        head = raw[at]
        if not head & 0x80:
            raise ValueError("the key is cut off or damaged")
        if head & 0x40:
            tag, (length, begin) = head & 0x3F, _new_length(raw, at + 1)
        else:
            tag, (length, begin) = (head & 0x3C) >> 2, _old_length(raw, at)
        if begin + length > len(raw):
            raise IndexError
        yield tag, raw[begin : begin + length]
        at = begin + length


def _old_length(raw: bytes, at: int) -> tuple[int, int]:
    """Length and begin of a packet's body, by an old-format header."""
    size = (1, 2, 4, 0)[raw[at] & 3]
    begin = at + 1 + size
    length = int.from_bytes(raw[at + 1 : begin], "big") if size else len(raw) - begin
    return length, begin


def _new_length(raw: bytes, at: int) -> tuple[int, int]:
    first = raw[at]
    if first < 192:
        return first, at + 1
    if first < 224:
        return ((first - 192) << 8) + raw[at + 1] + 192, at + 2
    if first < 255:
        raise ValueError("a key in parts, which is not read here")
    return int.from_bytes(raw[at + 1 : at + 5], "big"), at + 5
