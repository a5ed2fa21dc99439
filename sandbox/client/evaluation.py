"""Evaluation is one piece of work for a worker, with the files that it may ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

from sandbox.client.errors import SandboxReason
from sandbox.client.frames import WorkerFailure, WorkerFrame, WorkerReply


class EvaluationFiles(Protocol):
    """The files that an evaluation may ask for, and a record of what it saw of them."""

    @property
    def ahead(self) -> tuple[bytes, ...]:
        """Frames of answers that go with the request."""
        ...

    @property
    def read_set(self) -> Mapping[str, str]:
        """What was seen so far, as the owner of the files names it."""
        ...

    def holds(self, read_set: Mapping[str, str]) -> bool:
        """Whether an evaluation that saw this would see the same now."""
        ...

    def answer(self, question: WorkerFrame) -> tuple[WorkerReply, bytes]:
        """Answer a question of the worker; a file's content is the second part."""
        ...


class NoFiles:
    """The files of an evaluation that has none."""

    ahead: tuple[bytes, ...] = ()
    read_set: Mapping[str, str] = {}

    def holds(self, read_set: Mapping[str, str]) -> bool:
        return not read_set

    def answer(self, question: WorkerFrame) -> tuple[WorkerReply, bytes]:
        return refused(SandboxReason.FILE_NOT_FOUND, question.path, "has no files"), b""


class RecipeKey(msgspec.Struct, frozen=True):
    """A project's recipe: what one project does says nothing about the recipe of another."""

    project: str
    fingerprint: str


class Evaluation(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation; `recipe` is None for an operation whose cost is not remembered."""

    op: str
    params: Mapping[str, Any]
    body: bytes = b""
    files: EvaluationFiles
    project: str = ""
    recipe: RecipeKey | None = None
    only_try: float | None = None
    """Seconds of a single try; None: the deadlines of the pool, with a second, slow try."""


def refused(reason: SandboxReason, path: str, why: str) -> WorkerReply:
    return WorkerReply(error=WorkerFailure(reason=reason, message=f"{path} {why}", file=path))
