"""RepositoryArchive packs the files of a commit for a plugin: a tar, compressed, of all of them.

As in Argo CD a plugin gets the whole repository, because it may read what lies above its folder.
The files are read on the event loop in portions, as all files of a mirror are; a thread compresses
each portion. The archive has no name on the disk, so nothing is left when the agent ends.
"""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import io
import tarfile
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO

import msgspec

from agent.plugins.plugin_limits import PluginLimits
from bus.status import Reason
from handlers.ports import CommitTree, EntryKind, FileNeededError, RepositoryError, TreeEntry
from handlers.ports.rendering import RenderError
from handlers.render.read_set import EscapedPathError, locate
from handlers.render.submodule_tree import commit_of

_PORTION = 1 << 20
_PORTION_FILES = 500


class RepositoryArchive(msgspec.Struct, frozen=True):
    file: IO[bytes]
    checksum: str
    """sha256 in hexadecimal."""
    size: int


class _Item(msgspec.Struct, frozen=True):
    path: str
    kind: EntryKind
    content: bytes


@asynccontextmanager
async def packed(
    tree: CommitTree, limits: PluginLimits, folder: Path
) -> AsyncIterator[RepositoryArchive]:
    """Pack the files of a commit; raises RenderError, RepositoryError, OSError."""
    with tempfile.TemporaryFile(dir=folder) as file:
        writer = _ArchiveWriter(file)
        for portion in _portions(_items(commit_of(tree), limits)):
            await asyncio.to_thread(writer.write, portion)
        yield await asyncio.to_thread(writer.close)


class _HashedFile:
    """A file that computes the checksum of what is written."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def write(self, content: bytes, /) -> int:
        self.digest.update(content)
        return self._file.write(content)

    def flush(self) -> None:
        self._file.flush()


class _ArchiveWriter:
    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hashed = _HashedFile(file)
        self._gzip = gzip.GzipFile(fileobj=self._hashed, mode="wb", compresslevel=1, mtime=0)
        self._tar = tarfile.open(fileobj=self._gzip, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115  closed by close

    def write(self, items: Sequence[_Item]) -> None:
        for item in items:
            self._add(item)

    def close(self) -> RepositoryArchive:
        self._tar.close()
        self._gzip.close()
        self._file.flush()
        size = self._file.tell()
        self._file.seek(0)
        return RepositoryArchive(self._file, self._hashed.digest.hexdigest(), size)

    def _add(self, item: _Item) -> None:
        about = tarfile.TarInfo(item.path)
        about.mode = 0o755  # a commit's tree says not what may be run, and a plugin may ask for it
        match item.kind:
            case EntryKind.SYMLINK:
                about.type, about.linkname = tarfile.SYMTYPE, item.content.decode(errors="replace")
                self._tar.addfile(about)
            case EntryKind.TREE:
                about.type = tarfile.DIRTYPE
                self._tar.addfile(about)
            case _:
                about.size = len(item.content)
                self._tar.addfile(about, io.BytesIO(item.content))


def _portions(items: Iterator[_Item]) -> Iterator[Sequence[_Item]]:
    portion: list[_Item] = []
    size = 0
    for item in items:
        portion.append(item)
        size += len(item.content)
        if size >= _PORTION or len(portion) >= _PORTION_FILES:
            yield portion
            portion, size = [], 0
    yield portion


def _items(tree: CommitTree, limits: PluginLimits) -> Iterator[_Item]:
    """Read all files; those of submodules are not there. Raises RenderError, RepositoryError."""
    folders, size, count = [""], 0, 0
    while folders:
        folder = folders.pop()
        for entry in tree.list(folder):
            if entry.name in ("", ".", "..") or "/" in entry.name or "\0" in entry.name:
                text = f"{folder or 'the root'} has an entry {entry.name!r}, which is no name"
                raise RenderError(Reason.OUTSIDE_REPOSITORY, text, file=folder)
            path = f"{folder}/{entry.name}" if folder else entry.name
            if _is_excluded(path, limits) or entry.kind is EntryKind.SUBMODULE:
                continue
            size, count = size + entry.size, count + 1
            if size > limits.repository_bytes or count > limits.repository_files:
                raise _too_large(limits)
            if entry.kind is EntryKind.TREE:
                folders.append(path)
            yield _Item(path, entry.kind, _content(tree, path, entry))


def _content(tree: CommitTree, path: str, entry: TreeEntry) -> bytes:
    if entry.kind is EntryKind.TREE:
        return b""
    if entry.kind is EntryKind.SYMLINK:
        try:
            locate(tree, path)
        except EscapedPathError as error:
            text = f"{error}; a plugin is sent no repository with such a link"
            raise RenderError(Reason.OUTSIDE_REPOSITORY, text, file=error.path) from error
    try:
        return tree.read(entry.oid)
    except FileNeededError:
        raise
    except RepositoryError as error:
        text = f"{path}: {error.message}; leave it out with GITOPS_PLUGINS_EXCLUDE"
        raise RenderError(error.reason, text, file=path) from error


def _is_excluded(path: str, limits: PluginLimits) -> bool:
    parts = path.split("/")
    return any(_matches(parts, pattern.split("/")) for pattern in limits.exclude)


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Go's rule of file patterns: `*` ends at a slash."""
    pairs = zip(parts, pattern, strict=False)
    return len(parts) == len(pattern) and all(fnmatchcase(*one) for one in pairs)


def _too_large(limits: PluginLimits) -> RenderError:
    size, files = limits.repository_bytes >> 20, limits.repository_files
    return RenderError(
        Reason.OUTPUT_TOO_LARGE,
        f"the repository has more than {size} MiB or {files} files, which is more than a plugin is"
        " sent; leave folders out with GITOPS_PLUGINS_EXCLUDE, or raise"
        " GITOPS_PLUGINS_REPOSITORY_BYTES",
    )
