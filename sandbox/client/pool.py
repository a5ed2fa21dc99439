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

from sandbox.client import frames
from sandbox.client.errors import SandboxBusyError, SandboxError, SandboxReason
from sandbox.client.evaluation import Evaluation, EvaluationFiles, NoFiles, RecipeKey
from sandbox.client.fair_queue import FairQueue, QueueFullError, Slot
from sandbox.client.limits import SandboxLimits
from sandbox.client.overruns import OF_RESOURCES, OverrunOutcome, Overruns
from sandbox.client.worker import Worker
from sandbox.client.workers import Workers

_NICE = 10  # of a slow worker, so that it gets the CPU that the others leave
_BUSY = "other evaluations that need long are before this one; it is tried again by itself"

Slots = FairQueue[Worker | None]


class Sandbox:
    """A fixed number of workers, taken in turn by projects. Use as `async with`."""

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

    @property
    def limits(self) -> SandboxLimits:
        return self._limits

    def known_failure(self, recipe: RecipeKey, files: EvaluationFiles) -> SandboxError | None:
        """Tell why the recipe fails on these files, where an earlier evaluation found it."""
        return self._overruns.failure(recipe, files)

    def forget(self, recipe: RecipeKey) -> None:
        """Try the recipe again although it is known to fail."""
        self._overruns.forget(recipe)

    async def run(self, work: Evaluation) -> tuple[frames.WorkerFrame, bytes]:
        """Evaluate in the project's turn; raises SandboxError, SandboxBusyError."""
        key = work.recipe
        slow = self._limits.has_slow_queue and key and self._overruns.is_slow(key, work.files)
        return await (self._run_slowly(work) if slow else self._run(work))

    async def evaluate(
        self,
        op: str,
        params: Mapping[str, Any],
        body: bytes = b"",
        *,
        files: EvaluationFiles | None = None,
        project: str = "",
    ) -> bytes:
        """Evaluate any operation of sandbox/worker/internal/server/operations.go.

        Raises SandboxError, SandboxBusyError.
        """
        work = Evaluation(
            op=op, params=params, body=body, files=files or NoFiles(), project=project
        )
        _, answer = await self._run(work)
        return answer

    async def _run(self, work: Evaluation) -> tuple[frames.WorkerFrame, bytes]:
        limits, once = self._limits, work.only_try
        self._refuse_crowd(work.project)
        try:
            async with self._queue.slot(work.project) as slot:
                return await self._workers.evaluate(slot, work, once or limits.first)
        except QueueFullError as error:
            raise SandboxBusyError(_BUSY, after=limits.first) from error
        except SandboxError as error:
            overran = error.reason is SandboxReason.DEADLINE_EXCEEDED
            if not overran or once is not None or not limits.has_slow_queue:
                self._note_failure(work, error)
                raise
        self._note(work, OverrunOutcome.OPEN)
        if self._is_suspect(work.project):
            self._queue.send_away(work.project, keep=limits.suspect_waiting)
        return await self._run_slowly(work)

    def _is_suspect(self, project: str) -> bool:
        return self._overruns.without_end(project) >= self._limits.suspect_overruns

    def _refuse_crowd(self, project: str) -> None:
        if self._queue.waits(project) < self._limits.suspect_waiting:
            return
        if self._is_suspect(project):
            raise SandboxBusyError(_BUSY, after=self._limits.first)

    async def _run_slowly(self, work: Evaluation) -> tuple[frames.WorkerFrame, bytes]:
        """Once more, with all the time there is; one evaluation of a project at a time."""
        queue, limits = self._slow_queue, self._limits
        if queue.has(work.project) or queue.waiting >= limits.slow_waiting:
            raise SandboxBusyError(_BUSY, after=limits.deadline / 2)
        try:
            async with asyncio.timeout(limits.slow_patience) as patience:
                async with queue.slot(work.project) as slot:
                    patience.reschedule(None)
                    return await self._evaluated_slowly(slot, work)
        except TimeoutError as error:
            raise SandboxBusyError(_BUSY, after=limits.deadline / 2) from error

    async def _evaluated_slowly(
        self, slot: Slot[Worker | None], work: Evaluation
    ) -> tuple[frames.WorkerFrame, bytes]:
        started = time.monotonic()
        try:
            answer = await self._workers.evaluate(slot, work, self._limits.deadline, nice=_NICE)
        except SandboxError as error:
            self._note_failure(work, error)
            raise
        if time.monotonic() - started > self._limits.first:
            self._note(work, OverrunOutcome.ENDED_WELL)
        elif work.recipe is not None:
            self._overruns.forget(work.recipe)
        return answer

    def _note_failure(self, work: Evaluation, error: SandboxError) -> None:
        if error.reason in OF_RESOURCES:
            self._note(work, OverrunOutcome.FAILED, error)

    def _note(
        self, work: Evaluation, outcome: OverrunOutcome, error: SandboxError | None = None
    ) -> None:
        if work.recipe is not None:
            self._overruns.note(work.recipe, outcome, work.files.read_set, error)
