"""Sandbox: a few workers, a fair queue before them, and a fresh worker for each one that was lost.

Concurrency: every slot of a queue is a worker, or None until the first request takes it. A request
takes a slot, starts a new worker there if the old one is dead, and gives the slot back in every
case, also when its caller is cancelled. So the number of workers is fixed, nothing runs in the
background, and there is nothing to supervise.

Nobody waits for long behind what somebody else wrote: projects take turns, the first deadline is
short, and what needs more goes on in a queue of its own at a lower CPU priority. What failed there
is remembered (overruns.py) and not made again before it can come out differently. Those who wait
here hold a worker of the dispatcher, so a project that overruns again and again has few wait.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent.sandbox import frames
from agent.sandbox.fair_queue import FairQueue, SentAwayError, Slot
from agent.sandbox.foresight import certain
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.overruns import OF_RESOURCES, Outcome, Overruns, RecipeKey
from agent.sandbox.questions import Questions
from agent.sandbox.reasons import SandboxError, SandboxReason
from agent.sandbox.requests import request_of
from agent.sandbox.worker import Worker
from agent.sandbox.workers import Work, Workers
from handlers.ports import RendererBusyError, Tree
from handlers.render.recipe import Recipe, Rendered, RenderError

_NICE = 10  # of a slow worker, so that it gets the CPU that the others leave
_BUSY = "other evaluations that need long are before this one; it is tried again by itself"

Slots = FairQueue[Worker | None]


class Sandbox:
    """The Renderer port, and any other operation by name. Use as `async with`."""

    def __init__(self, binary: Path, limits: SandboxLimits | None = None) -> None:
        self._limits = limits or SandboxLimits()
        self._workers = Workers(binary, self._limits)
        self._queue = Slots(())
        self._slow_queue = Slots(())
        self._overruns = Overruns(
            most=self._limits.overruns,
            seconds=self._limits.overrun_seconds,
            clock=time.monotonic,
        )

    async def __aenter__(self) -> Self:
        # A binary that does not work is found now, not at the first push.
        first = await self._workers.start()
        self._queue = Slots([*[None] * (self._limits.workers - 1), first])
        self._slow_queue = Slots([None] * self._limits.slow_workers)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._workers.close()

    @property
    def capabilities(self) -> frozenset[str]:
        """What confines the workers on this machine, see confinement.py."""
        return self._workers.capabilities

    @property
    def pids(self) -> frozenset[int]:
        """Processes of the pool that live now."""
        return self._workers.pids

    async def render(
        self, recipe: Recipe, tree: Tree, *, project: str = "", hard: bool = False
    ) -> Rendered:
        """Evaluate in the sandbox, in the project's turn; raises RenderError, RendererBusyError.

        `hard`: also what is known to fail is tried again.
        """
        key = RecipeKey(project, recipe.fingerprint)
        if hard:
            self._overruns.forget(key)
        if known := self._overruns.failure(key, tree):
            raise _render_error(known) from known
        questions = Questions(tree, self._limits.input_bytes)
        questions.foresee(certain(recipe, tree))
        op, params = request_of(recipe, self._limits)
        work = Work(
            op=op, params=params, body=b"", questions=questions, project=project, recipe=key
        )
        slow = self._limits.has_slow_queue and self._overruns.is_slow(key, tree)
        try:
            said, body = await (self._run_slowly(work) if slow else self._run(work))
        except SandboxError as error:
            raise _render_error(error) from error
        objects = tuple(body.splitlines())
        return Rendered(objects=objects, origins=said.origins, read_set=questions.read_set)

    async def evaluate(
        self,
        op: str,
        params: Mapping[str, Any],
        body: bytes = b"",
        *,
        tree: Tree | None = None,
        project: str = "",
    ) -> bytes:
        """Any operation of sandbox/operations.go; raises SandboxError, RendererBusyError."""
        questions = Questions(tree, self._limits.input_bytes)
        work = Work(op=op, params=params, body=body, questions=questions, project=project)
        _, answer = await self._run(work)
        return answer

    async def _run(self, work: Work) -> tuple[frames.Said, bytes]:
        limits = self._limits
        self._refuse_crowd(work.project)
        try:
            async with self._queue.slot(work.project) as slot:
                return await self._workers.evaluate(slot, work, limits.first)
        except SentAwayError as error:
            raise RendererBusyError(_BUSY, after=limits.first) from error
        except SandboxError as error:
            if error.reason is not SandboxReason.DEADLINE_EXCEEDED or not limits.has_slow_queue:
                self._note_failure(work, error)
                raise
        self._note(work, Outcome.OPEN)
        if self._is_suspect(work.project):
            self._queue.send_away(work.project, keep=limits.suspect_waiting)
        return await self._run_slowly(work)

    def _is_suspect(self, project: str) -> bool:
        return self._overruns.without_end(project) >= self._limits.suspect_overruns

    def _refuse_crowd(self, project: str) -> None:
        if self._queue.waits(project) < self._limits.suspect_waiting:
            return
        if self._is_suspect(project):
            raise RendererBusyError(_BUSY, after=self._limits.first)

    async def _run_slowly(self, work: Work) -> tuple[frames.Said, bytes]:
        """Once more, with all the time there is; one evaluation of a project at a time."""
        queue, limits = self._slow_queue, self._limits
        if queue.has(work.project) or queue.waiting >= limits.slow_waiting:
            raise RendererBusyError(_BUSY, after=limits.deadline / 2)
        try:
            async with asyncio.timeout(limits.slow_patience) as patience:
                async with queue.slot(work.project) as slot:
                    patience.reschedule(None)
                    return await self._evaluated_slowly(slot, work)
        except TimeoutError as error:
            raise RendererBusyError(_BUSY, after=limits.deadline / 2) from error

    async def _evaluated_slowly(
        self, slot: Slot[Worker | None], work: Work
    ) -> tuple[frames.Said, bytes]:
        started = time.monotonic()
        try:
            answer = await self._workers.evaluate(slot, work, self._limits.deadline, nice=_NICE)
        except SandboxError as error:
            self._note_failure(work, error)
            raise
        if time.monotonic() - started > self._limits.first:
            self._note(work, Outcome.ENDED_WELL)
        elif work.recipe is not None:
            self._overruns.forget(work.recipe)
        return answer

    def _note_failure(self, work: Work, error: SandboxError) -> None:
        if error.reason in OF_RESOURCES:
            self._note(work, Outcome.FAILED, error)

    def _note(self, work: Work, outcome: Outcome, error: SandboxError | None = None) -> None:
        if work.recipe is not None:
            self._overruns.note(work.recipe, outcome, work.questions.read_set, error)


def _render_error(error: SandboxError) -> RenderError:
    return RenderError(
        error.reason.reason,
        error.message,
        file=error.file,
        document=error.document,
        line=error.line,
    )
