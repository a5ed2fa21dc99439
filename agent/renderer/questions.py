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

_OWN = ""
_AFTER_REF = "\0"
"""No path has it."""


class RepositoryQuestions:
    """The questions of one request, answered from its own tree and from those of its refs.

    In the read set a path of a ref stands after the name of the ref; `read_of` takes them apart.
    """

    def __init__(
        self, tree: ReadableTree, max_file_bytes: int, refs: Mapping[str, ReadableTree] = {}
    ) -> None:
        self.read_set: dict[str, str] = {}
        self.ahead: tuple[bytes, ...] = ()
        """Frames of answers that go with the request."""
        self._trees = {_OWN: tree, **refs}
        self._max_file_bytes = max_file_bytes

    def foresee(self, asked: Iterable[ForeseenQuestion]) -> None:
        """Answer these before they are asked; they count as seen."""
        self.ahead = tuple(self._foreseen(one) for one in asked)

    def read_of(self, ref: str = _OWN) -> dict[str, str]:
        """The read set of one of the trees."""
        return self.read_set if len(self._trees) == 1 else _read_of(self.read_set, ref)

    def holds(self, read_set: Mapping[str, str]) -> bool:
        refs = {key.partition(_AFTER_REF)[0] for key in read_set if _AFTER_REF in key}
        if not refs <= self._trees.keys():
            return False
        return all(holds(_read_of(read_set, one), self._trees[one]) for one in (_OWN, *refs))

    def answer(self, question: WorkerFrame) -> tuple[WorkerReply, bytes]:
        tree = self._trees.get(question.ref)
        if tree is None or _AFTER_REF in question.path:
            return refused(
                SandboxReason.REQUEST_INVALID, f"${question.ref}", "is no path of a ref"
            ), b""
        try:
            place = self._look(tree, question.ref, question.path)
        except EscapedPathError as error:
            failure = WorkerFailure(
                reason=SandboxReason.OUTSIDE_REPOSITORY, message=str(error), file=error.path
            )
            return WorkerReply(error=failure), b""
        match question.ask:
            case "stat":
                return WorkerReply(kind=place.kind, size=place.size, path=place.path), b""
            case "list":
                return self._list(tree, question, place), b""
            case "read":
                return self._read(tree, question, place)
            case _:
                return refused(SandboxReason.REQUEST_INVALID, question.ask, "is no question"), b""

    def _foreseen(self, asked: ForeseenQuestion) -> bytes:
        reply, body = self.answer(WorkerFrame(ask=asked.ask, path=asked.path))
        return frames.encode(Foreseen(ask=asked.ask, of=asked.path, reply=reply), body)

    def _look(self, tree: ReadableTree, ref: str, path: str) -> ResolvedPath:
        place = locate(tree, path)
        for key, seen in seen_by(tree, path, place).items():
            self.read_set[_key(ref, key)] = seen
        return place

    def _list(self, tree: ReadableTree, question: WorkerFrame, place: ResolvedPath) -> WorkerReply:
        if place.kind != "tree":
            why = "is not a folder of the repository"
            return refused(SandboxReason.FILE_NOT_FOUND, _shown(question), why)
        entries = tuple(tree.list(place.path))
        for key in (question.path, place.path):
            self.read_set[_key(question.ref, f"{key}/")] = listing(entries)
        names = sorted(entries, key=lambda entry: entry.name)
        return WorkerReply(entries=tuple(NamedEntry(name=one.name, kind=one.kind) for one in names))

    def _read(
        self, tree: ReadableTree, question: WorkerFrame, place: ResolvedPath
    ) -> tuple[WorkerReply, bytes]:
        path = _shown(question)
        if place.kind != "blob":
            missing = "does not exist in the repository" if not place.kind else "is not a file"
            return refused(SandboxReason.FILE_NOT_FOUND, path, missing), b""
        if place.size > self._max_file_bytes:
            return refused(SandboxReason.INPUT_TOO_LARGE, path, f"has {place.size} bytes"), b""
        return WorkerReply(kind=place.kind, path=place.path), tree.read(place.oid)


def _key(ref: str, key: str) -> str:
    return f"{ref}{_AFTER_REF}{key}" if ref else key


def _read_of(read_set: Mapping[str, str], ref: str) -> dict[str, str]:
    if not ref:
        return {key: seen for key, seen in read_set.items() if _AFTER_REF not in key}
    begin = _key(ref, "")
    return {key[len(begin) :]: one for key, one in read_set.items() if key.startswith(begin)}


def _shown(question: WorkerFrame) -> str:
    """The path as a person reads it."""
    return f"${question.ref}/{question.path}" if question.ref else question.path
