"""Questions answer a worker about a repository, and record exactly what it saw.

A worker has no files. It asks for a path, a folder's names or a file's bytes; every answer, also
"there is nothing", goes into the read set (handlers/render/read_set.py). Links are followed here
and never out of the repository.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agent.renderer.foresight import ForeseenQuestion
from handlers.render.read_set import (
    EscapedPathError,
    ReadableTree,
    ResolvedPath,
    holds,
    listing,
    locate,
    seen_by,
)
from sandbox.client import SandboxReason, frames
from sandbox.client.evaluation import refused
from sandbox.client.frames import Foreseen, NamedEntry, WorkerFailure, WorkerFrame, WorkerReply


class RepositoryQuestions:
    """The questions of one request, answered from one tree."""

    def __init__(self, tree: ReadableTree, max_file_bytes: int) -> None:
        self.read_set: dict[str, str] = {}
        self.ahead: tuple[bytes, ...] = ()
        """Frames of answers that go with the request."""
        self._tree = tree
        self._max_file_bytes = max_file_bytes

    def foresee(self, asked: Iterable[ForeseenQuestion]) -> None:
        """Answer these before they are asked; they count as seen."""
        self.ahead = tuple(self._foreseen(one) for one in asked)

    def holds(self, read_set: Mapping[str, str]) -> bool:
        return holds(read_set, self._tree)

    def answer(self, question: WorkerFrame) -> tuple[WorkerReply, bytes]:
        try:
            place = self._look(self._tree, question.path)
        except EscapedPathError as error:
            failure = WorkerFailure(
                reason=SandboxReason.OUTSIDE_REPOSITORY, message=str(error), file=error.path
            )
            return WorkerReply(error=failure), b""
        match question.ask:
            case "stat":
                return WorkerReply(kind=place.kind, size=place.size, path=place.path), b""
            case "list":
                return self._list(self._tree, question.path, place), b""
            case "read":
                return self._read(self._tree, question.path, place)
            case _:
                return refused(SandboxReason.REQUEST_INVALID, question.ask, "is no question"), b""

    def _foreseen(self, asked: ForeseenQuestion) -> bytes:
        reply, body = self.answer(WorkerFrame(ask=asked.ask, path=asked.path))
        return frames.encode(Foreseen(ask=asked.ask, of=asked.path, reply=reply), body)

    def _look(self, tree: ReadableTree, path: str) -> ResolvedPath:
        place = locate(tree, path)
        self.read_set |= seen_by(tree, path, place)
        return place

    def _list(self, tree: ReadableTree, path: str, place: ResolvedPath) -> WorkerReply:
        if place.kind != "tree":
            return refused(SandboxReason.FILE_NOT_FOUND, path, "is not a folder of the repository")
        entries = tuple(tree.list(place.path))
        for key in (path, place.path):
            self.read_set[f"{key}/"] = listing(entries)
        names = sorted(entries, key=lambda entry: entry.name)
        return WorkerReply(entries=tuple(NamedEntry(name=one.name, kind=one.kind) for one in names))

    def _read(
        self, tree: ReadableTree, path: str, place: ResolvedPath
    ) -> tuple[WorkerReply, bytes]:
        if place.kind != "blob":
            missing = "does not exist in the repository" if not place.kind else "is not a file"
            return refused(SandboxReason.FILE_NOT_FOUND, path, missing), b""
        if place.size > self._max_file_bytes:
            return refused(SandboxReason.INPUT_TOO_LARGE, path, f"has {place.size} bytes"), b""
        return WorkerReply(kind=place.kind, path=place.path), tree.read(place.oid)
