"""Archives of strangers are read within limits: size, number of files, and what a name may say.

A `tar` or `tar.gz` is unpacked to a file first, up to a limit, so that no header of it can ask for
more memory than that. Every member is a regular file, a folder or, where links are allowed, a
symbolic link that stays inside; anything else refuses the whole archive, as does a name that leads
out of it or comes twice.
"""

from __future__ import annotations

import posixpath
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

from agent.download.tar_headers import TarHeaderError, TarKind, TarMember, tar_members

UNPACKED_BYTES = 256 * 1024 * 1024
MOST_FILES = 20_000
_LONGEST_NAME = 1024
_DEEPEST = 64
_CHUNK = 1 << 20
_PACKED_CHUNK = 64 * 1024
_MOST_PIECES = 100_000
_GZIP = b"\x1f\x8b"
_CONTROL = frozenset(chr(code) for code in range(0x20)) | {"\x7f", "\\"}


class ArchiveError(Exception):
    """The archive is refused; the message says why, for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedFile:
    path: str
    content: bytes
    is_link: bool = False
    """Whether the content is where a symbolic link leads."""


def archived_files(archive: Path, *, links: bool = False) -> Iterator[ArchivedFile]:
    """Read the files of an archive. Blocking. Raises ArchiveError, also midway."""
    with TemporaryFile(dir=archive.parent) as plain:
        _unpack(archive, plain)
        plain.seek(0)
        try:
            yield from _members(plain, links=links)
        except TarHeaderError as error:
            raise ArchiveError(f"is no tar archive that can be read ({error})") from error


def _unpack(archive: Path, plain: IO[bytes]) -> None:
    with archive.open("rb") as file:
        if file.read(2) != _GZIP:
            file.seek(0)
            while chunk := file.read(_CHUNK):
                plain.write(chunk)
            return
        file.seek(0)
        try:
            _gunzip(file, plain)
        except zlib.error as error:
            raise ArchiveError(f"is damaged or cut off ({error})") from error


def _gunzip(packed: IO[bytes], plain: IO[bytes]) -> None:
    """Unpack all members of a gzip file; the ratio is not trusted, only what comes out counts."""
    size, pieces, stream = 0, 1, zlib.decompressobj(31)
    packed_bytes = packed.read(_PACKED_CHUNK)
    while True:
        out = stream.decompress(packed_bytes, _CHUNK)
        size += len(out)
        if size > UNPACKED_BYTES:
            raise ArchiveError(f"unpacks to more than the limit of {UNPACKED_BYTES} bytes")
        plain.write(out)
        if stream.eof:
            packed_bytes = stream.unused_data
            if len(packed_bytes) < len(_GZIP):
                packed_bytes += packed.read(_PACKED_CHUNK)
            if not packed_bytes.startswith(_GZIP):
                return  # the end, or padding behind it
            pieces += 1
            if pieces > _MOST_PIECES:
                raise ArchiveError(f"is packed in more than the limit of {_MOST_PIECES} pieces")
            stream = zlib.decompressobj(31)
            continue
        packed_bytes = stream.unconsumed_tail or packed.read(_PACKED_CHUNK)
        if not packed_bytes and not out:
            raise ArchiveError("is cut off")


def _members(plain: IO[bytes], *, links: bool) -> Iterator[ArchivedFile]:
    seen: set[str] = set()
    folders: set[str] = set()
    left = UNPACKED_BYTES
    for number, member in enumerate(tar_members(plain)):
        if number >= MOST_FILES:
            raise ArchiveError(f"holds more than the limit of {MOST_FILES} files")
        path = _checked_name(member.name)
        if member.kind is TarKind.FOLDER:
            continue
        left -= member.size
        if left < 0:
            raise ArchiveError(f"unpacks to more than the limit of {UNPACKED_BYTES} bytes")
        if not path or path in seen:
            raise ArchiveError(f"holds {_shown(member.name)} twice, or as a file without a name")
        seen.add(path)
        _add_folders(folders, path)
        yield _file(plain, member, path, links=links)


def _add_folders(folders: set[str], path: str) -> None:
    """Count the folders that a file needs: each becomes an object on the disk."""
    while (path := posixpath.dirname(path)) and path not in folders:
        folders.add(path)
        if len(folders) > MOST_FILES:
            raise ArchiveError(f"holds more than the limit of {MOST_FILES} folders")


def _file(plain: IO[bytes], member: TarMember, path: str, *, links: bool) -> ArchivedFile:
    if member.kind is TarKind.SYMBOLIC_LINK and links:
        return ArchivedFile(path=path, content=_checked_target(path, member), is_link=True)
    if member.kind is not TarKind.FILE:
        kind = "no regular file" if member.kind is TarKind.OTHER else "a link"
        raise ArchiveError(f"holds {_shown(member.name)}, which is {kind}")
    content = plain.read(member.size)
    if len(content) != member.size:
        raise ArchiveError(f"is cut off in {_shown(member.name)}")
    return ArchivedFile(path=path, content=content)


def _checked_name(name: str) -> str:
    """Return the path without `./`; raises ArchiveError."""
    path = name.removesuffix("/")
    while path.startswith("./"):
        path = path[2:]
    if path in ("", "."):
        return ""
    steps = path.split("/")
    if path.startswith("/") or any(step in ("", ".", "..") for step in steps):
        raise ArchiveError(f"holds {_shown(name)}, a name that leads out of it")
    if len(path) > _LONGEST_NAME or len(steps) > _DEEPEST or _CONTROL & set(path):
        raise ArchiveError(f"holds {_shown(name)}, which is no name of a file")
    return path


def _checked_target(path: str, member: TarMember) -> bytes:
    target = member.target
    led = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    if not target or target.startswith("/") or led == ".." or led.startswith("../"):
        raise ArchiveError(f"holds {_shown(member.name)}, a link that leads out of it")
    if len(target) > _LONGEST_NAME or _CONTROL & set(target):
        raise ArchiveError(f"holds {_shown(member.name)}, a link to what is no name of a file")
    return target.encode()


def _shown(name: str) -> str:
    return repr(name[:100])
