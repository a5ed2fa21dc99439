"""handlers.ports.Renders: the last good render of each application, in memory and on disk.

One small file an application, so that a restart renders nothing again. A file that cannot be read
is forgotten: the application is then rendered once more.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

import msgspec

from agent.store.files import Files, Promptly, sweep_parts
from agent.store.readers import Readers
from bus.identity import AppKey, RepositoryKey
from handlers.render.recipe import RenderRecord

_DECODER = msgspec.json.Decoder(RenderRecord)


class RenderStore:
    """Implements handlers.ports.Renders; make it with `open`."""

    def __init__(self, folder: Path, files: Files) -> None:
        self._folder = folder
        self._files = files
        self._records: dict[AppKey, RenderRecord] = {}
        self._readers: dict[RepositoryKey, Readers] = {}

    @classmethod
    def open(cls, folder: Path, files: Files | None = None) -> Self:
        """Blocking: reads every file in `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        sweep_parts(folder)
        store = cls(folder, files or Promptly())
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
        self._readers[before.repository].remove(app, before.read_set)
        await self._files.remove(self._path(app))

    def readers(self, repository: RepositoryKey, paths: Iterable[str]) -> frozenset[AppKey]:
        known = self._readers.get(repository)
        return known.of(paths) if known else frozenset()

    def _note(self, record: RenderRecord) -> None:
        before = self._records.get(record.app)
        if before is not None:
            self._readers[before.repository].remove(before.app, before.read_set)
        self._records[record.app] = record
        readers = self._readers.setdefault(record.repository, Readers())
        readers.add(record.app, record.read_set)

    def _path(self, app: AppKey) -> Path:
        return self._folder / f"{app.token}.json"
