"""RenderStore keeps the last good render of each application, in memory and on disk: `Renders`.

Each application has a small file, so that a restart renders nothing again. An unreadable file is
removed: its application is then rendered once more. PathReaders is the inverted index over the
read sets of the renders: it finds the applications that read a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Self

import msgspec

from agent.store.files import FileWriter, PromptFiles, sweep_parts
from bus.identity import AppKey, RepositoryKey
from handlers.ports.remote_base import RemoteBase
from handlers.ports.render_record import BaseRecord, RenderRecord
from handlers.render.read_set import keys_touched

_DECODER = msgspec.json.Decoder(RenderRecord)
_ROOT = ""
"""The root folder is always there; its listing (`/`) is another key."""


class RenderStore:
    """Implements handlers.ports.Renders; make it with `open`."""

    def __init__(self, folder: Path, files: FileWriter) -> None:
        self._folder = folder
        self._files = files
        self._records: dict[AppKey, RenderRecord] = {}
        self._readers: dict[RepositoryKey, PathReaders] = {}
        self._by_plugins: set[AppKey] = set()
        self._bases: dict[RepositoryKey, dict[RemoteBase, set[AppKey]]] = {}
        """The users of remote bases, of those that move."""

    @classmethod
    def open(cls, folder: Path, files: FileWriter | None = None) -> Self:
        """Open the store. Blocking: reads every file in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        sweep_parts(folder)
        store = cls(folder, files or PromptFiles())
        for path in folder.glob("*.json"):
            try:
                record = _DECODER.decode(path.read_bytes())
            except msgspec.DecodeError:
                path.unlink(missing_ok=True)
            else:
                store._note(record)
        return store

    def recall(self, app: AppKey) -> RenderRecord | None:
        return self._records.get(app)

    async def remember(self, record: RenderRecord) -> None:
        self._note(record)
        await self._files.write(self._path(record.app), msgspec.json.encode(record))

    async def forget(self, app: AppKey) -> None:
        before = self._records.pop(app, None)
        if before is None:
            return
        self._drop(before)
        await self._files.remove(self._path(app))

    def rendered(self, repository: RepositoryKey) -> AbstractSet[AppKey]:
        known = self._readers.get(repository)
        return known.apps if known else frozenset()

    @property
    def by_plugins(self) -> AbstractSet[AppKey]:
        return self._by_plugins

    def base_repositories(self) -> Sequence[RepositoryKey]:
        """Return the repositories of remote bases that move."""
        return tuple(self._bases)

    def base_users(self, repository: RepositoryKey) -> Mapping[RemoteBase, AbstractSet[AppKey]]:
        return self._bases.get(repository, {})

    def readers(self, repository: RepositoryKey, paths: Iterable[str]) -> frozenset[AppKey]:
        known = self._readers.get(repository)
        return known.of(paths) if known else frozenset()

    def _note(self, record: RenderRecord) -> None:
        before = self._records.get(record.app)
        if before is not None:
            self._drop(before)
        self._records[record.app] = record
        if any(source.plugin for source in record.sources):
            self._by_plugins.add(record.app)
        for source in record.sources:
            for repository, read_set in source.reads():
                self._readers.setdefault(repository, PathReaders()).add(record.app, read_set)
            for base in source.bases:
                if not base.wanted.is_exact:
                    users = self._bases.setdefault(base.repository, {})
                    users.setdefault(base.wanted, set()).add(record.app)

    def _drop(self, record: RenderRecord) -> None:
        """Take a record out of the index; two of its sources may be of one repository."""
        self._by_plugins.discard(record.app)
        for source in record.sources:
            for repository, read_set in source.reads():
                self._readers[repository].remove(record.app, read_set)
            for base in source.bases:
                self._leave(base, record.app)

    def _leave(self, base: BaseRecord, app: AppKey) -> None:
        users = self._bases.get(base.repository, {})
        apps = users.get(base.wanted, set())
        apps.discard(app)
        if not apps:
            users.pop(base.wanted, None)
        if not users:
            self._bases.pop(base.repository, None)

    def _path(self, app: AppKey) -> Path:
        return self._folder / f"{app.token}.json"


class PathReaders:
    """PathReaders finds the applications that read a path: an inverted index over read sets.

    The applications that changed files may touch are never too few. They can be too many: a
    folder's key says that the folder exists, and is found by every change below it; `holds`
    decides exactly.

    An absent path needs one more key: a missing `a/b` appears when `a` becomes a link. So it is
    also found under `a//`, "something absent lies below a".

    The readers of one repository.
    """

    def __init__(self) -> None:
        self.apps: set[AppKey] = set()
        self._apps: dict[str, set[AppKey]] = {}

    def add(self, app: AppKey, read_set: Mapping[str, str]) -> None:
        self.apps.add(app)
        for key in _keys(read_set):
            self._apps.setdefault(key, set()).add(app)

    def remove(self, app: AppKey, read_set: Mapping[str, str]) -> None:
        self.apps.discard(app)
        for key in _keys(read_set):
            apps = self._apps.get(key)
            if apps is None:
                continue
            apps.discard(app)
            if not apps:
                del self._apps[key]

    def of(self, paths: Iterable[str]) -> frozenset[AppKey]:
        keys = {key for path in paths for key in (*keys_touched(path), f"{path}//")}
        return frozenset().union(*(self._apps[key] for key in keys if key in self._apps))


def _keys(read_set: Mapping[str, str]) -> Iterator[str]:
    for key, seen in read_set.items():
        if key == _ROOT:
            continue
        yield key
        if not seen:
            yield from _above(key)


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    for length in range(1, len(parts)):
        yield "/".join(parts[:length]) + "//"
