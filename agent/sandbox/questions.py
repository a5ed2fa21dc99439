"""Questions: what a worker may see of a repository, and the exact record of what it saw.

A worker has no files. It asks for a path, a folder's names or a file's bytes; every answer, also
"there is nothing", goes into the read set (handlers/render/readset.py). Links are followed here
and never out of the repository.
"""

from __future__ import annotations

from collections.abc import Iterable

from agent.sandbox import frames
from agent.sandbox.foresight import Asked
from agent.sandbox.frames import Failure, Foreseen, Named, Reply, Said
from agent.sandbox.reasons import SandboxReason
from handlers.render.readset import Files, OutsideRepositoryError, Place, listing, locate, seen_by


class Questions:
    """The questions of one request, answered from one tree."""

    def __init__(self, tree: Files | None, max_file_bytes: int) -> None:
        self.read_set: dict[str, str] = {}
        self.ahead: tuple[bytes, ...] = ()
        """Frames of answers that go with the request."""
        self._tree = tree
        self._max_file_bytes = max_file_bytes

    def foresee(self, asked: Iterable[Asked]) -> None:
        """Answer these before they are asked; they count as seen."""
        self.ahead = tuple(self._foreseen(one) for one in asked)

    def answer(self, question: Said) -> tuple[Reply, bytes]:
        if self._tree is None:
            return _refused(SandboxReason.FILE_NOT_FOUND, question.path, "has no files"), b""
        try:
            place = self._look(self._tree, question.path)
        except OutsideRepositoryError as error:
            failure = Failure(
                reason=SandboxReason.OUTSIDE_REPOSITORY, message=str(error), file=error.path
            )
            return Reply(error=failure), b""
        match question.ask:
            case "stat":
                return Reply(kind=place.kind, size=place.size, path=place.path), b""
            case "list":
                return self._list(self._tree, question.path, place), b""
            case "read":
                return self._read(self._tree, question.path, place)
            case _:
                return _refused(SandboxReason.REQUEST_INVALID, question.ask, "is no question"), b""

    def _foreseen(self, asked: Asked) -> bytes:
        reply, body = self.answer(Said(ask=asked.ask, path=asked.path))
        return frames.encode(Foreseen(ask=asked.ask, of=asked.path, reply=reply), body)

    def _look(self, tree: Files, path: str) -> Place:
        place = locate(tree, path)
        self.read_set |= seen_by(tree, path, place)
        return place

    def _list(self, tree: Files, path: str, place: Place) -> Reply:
        if place.kind != "tree":
            return _refused(SandboxReason.FILE_NOT_FOUND, path, "is not a folder of the repository")
        entries = tuple(tree.list(place.path))
        for key in (path, place.path):
            self.read_set[f"{key}/"] = listing(entries)
        names = sorted(entries, key=lambda entry: entry.name)
        return Reply(entries=tuple(Named(name=one.name, kind=one.kind) for one in names))

    def _read(self, tree: Files, path: str, place: Place) -> tuple[Reply, bytes]:
        if place.kind != "blob":
            missing = "does not exist in the repository" if not place.kind else "is not a file"
            return _refused(SandboxReason.FILE_NOT_FOUND, path, missing), b""
        if place.size > self._max_file_bytes:
            return _refused(SandboxReason.INPUT_TOO_LARGE, path, f"has {place.size} bytes"), b""
        return Reply(kind=place.kind, path=place.path), tree.read(place.oid)


def _refused(reason: SandboxReason, path: str, why: str) -> Reply:
    return Reply(error=Failure(reason=reason, message=f"{path} {why}", file=path))
