"""The headers of a tar file are walked here one by one, and none of them may ask for memory.

Python's tarfile keeps all members, copies what a global header says into each of them, and expands
maps of sparse files before anybody can refuse them. This reader takes from POSIX ustar, pax and GNU
tar what names a file, its size and where a link leads, and refuses what would change the meaning
of other members: global records but comments, and sparse files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, NoReturn

LONGEST_RECORD = 64 * 1024
MOST_RECORDS = 16 * 1024 * 1024
"""The bytes of all long names and pax headers together."""
_BLOCK = 512
_LARGEST = 1 << 62
_OCTAL = re.compile(rb"[0-7]*")
_DECIMAL = re.compile(rb"\d{1,19}")
_POSIX = b"ustar\0"
_GLOBAL, _LONG_NAME, _LONG_LINK, _PAX = b"g", b"L", b"K", b"x"
_LENGTH_DIGITS = 6
_ZEROS = bytes(_BLOCK)


class TarHeaderError(ValueError):
    """The file is no tar, or one that is not read; the message says why, for a person."""


class TarKind(StrEnum):
    FILE = "file"
    FOLDER = "folder"
    SYMBOLIC_LINK = "symbolic link"
    HARD_LINK = "hard link"
    OTHER = "other"


_KINDS = {
    b"0": TarKind.FILE,
    b"\0": TarKind.FILE,
    b"7": TarKind.FILE,
    b"5": TarKind.FOLDER,
    b"2": TarKind.SYMBOLIC_LINK,
    b"1": TarKind.HARD_LINK,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TarMember:
    name: str
    kind: TarKind
    size: int
    """Of the content, which only a regular file has."""
    target: str = ""


def tar_members(file: IO[bytes]) -> Iterator[TarMember]:
    """Read the members; at each, the file stands where its content begins. TarHeaderError."""
    extended: dict[bytes, bytes] = {}
    left = MOST_RECORDS
    number = 0
    while (block := file.read(_BLOCK)) and block != _ZEROS:
        number += 1
        _check(block)
        kind, size = block[156:157], _number(block[124:136])
        if kind not in (_GLOBAL, _LONG_NAME, _LONG_LINK, _PAX):
            member = _member(block, size, extended)
            extended = {}
            end = file.tell() + _padded(member.size)
            yield member
            file.seek(end)
            continue
        left -= size + _BLOCK
        if size > LONGEST_RECORD or left < 0:
            _refuse(f"it has more than {LONGEST_RECORD} bytes in a header, or too many of them")
        extended.update(_extension(kind, _body(file, size)))
    if not number and not block:
        _refuse("it is empty")
    if extended:
        _refuse("it is cut off behind a header")


def _check(block: bytes) -> None:
    if len(block) != _BLOCK:
        _refuse("it is cut off in a header")
    if sum(block) - sum(block[148:156]) + 8 * ord(" ") != _number(block[148:156]):
        _refuse("a header has a wrong checksum")


def _body(file: IO[bytes], size: int) -> bytes:
    content = file.read(_padded(size))
    if len(content) < size:
        _refuse("it is cut off in a header")
    return content[:size]


def _extension(kind: bytes, body: bytes) -> dict[bytes, bytes]:
    """Return what a header says of the next member, by pax's names."""
    if kind == _LONG_NAME:
        return {b"path": _text(body)}
    if kind == _LONG_LINK:
        return {b"linkpath": _text(body)}
    taken: dict[bytes, bytes] = {}
    for key, value in _records(body):
        if kind == _GLOBAL:
            if key != b"comment":
                _refuse(f"a header for all files says {_shown(key)}")
        elif key.startswith(b"GNU.sparse."):
            _refuse("it has a sparse file")
        elif key in (b"path", b"linkpath", b"size"):
            taken[key] = value
    return taken


def _records(body: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Read `length key=value` and a newline, again and again."""
    begin = 0
    while begin < len(body):
        space = body.find(b" ", begin, begin + _LENGTH_DIGITS)
        length = body[begin : max(space, begin)]
        end = begin + int(length) if _DECIMAL.fullmatch(length) else 0
        equals = body.find(b"=", space, end)
        if not begin < end <= len(body) or equals < 0 or body[end - 1] != ord("\n"):
            _refuse("a header has a record that cannot be read")
        yield body[space + 1 : equals], body[equals + 1 : end - 1]
        begin = end


def _member(block: bytes, size: int, extended: dict[bytes, bytes]) -> TarMember:
    name = _text(block[:100])
    prefix = _text(block[345:500]) if block[257:263] == _POSIX else b""
    name = extended.get(b"path", prefix + b"/" + name if prefix else name)
    kind = _KINDS.get(block[156:157], TarKind.OTHER)
    if kind is TarKind.FILE and name.endswith(b"/"):
        kind = TarKind.FOLDER  # as tar before POSIX wrote it
    if (written := extended.get(b"size")) is not None:
        if not _DECIMAL.fullmatch(written):
            _refuse(f"a header says the size {_shown(written)}")
        size = int(written)
    if size > _LARGEST:
        _refuse("a file has no size that can be")
    return TarMember(
        name=_decoded(name),
        kind=kind,
        size=size if kind is TarKind.FILE else 0,
        target=_decoded(extended.get(b"linkpath", _text(block[157:257]))),
    )


def _number(field: bytes) -> int:
    """Read a number in octal digits, or in GNU's base 256."""
    if field[0] == 0x80:
        return int.from_bytes(field[1:])
    digits = _text(field).strip(b" ")
    if not _OCTAL.fullmatch(digits):
        _refuse(f"a header has {_shown(digits)} for a number")
    return int(digits or b"0", 8)


def _text(field: bytes) -> bytes:
    return field.partition(b"\0")[0]


def _decoded(name: bytes) -> str:
    try:
        return name.decode()
    except UnicodeDecodeError:
        _refuse(f"the name {_shown(name)} is not UTF-8")


def _padded(size: int) -> int:
    return -(-size // _BLOCK) * _BLOCK


def _shown(text: bytes) -> str:
    return ascii(text[:100].decode(errors="replace"))


def _refuse(cause: str) -> NoReturn:
    raise TarHeaderError(cause)
