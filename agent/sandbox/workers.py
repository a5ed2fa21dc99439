"""Workers: the processes of a pool, started where one is missing, and one evaluation at a time each.

A worker that dies under a request through no fault of the request (someone killed it) is worth
one second try: evaluations have no effects.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from agent.sandbox import frames
from agent.sandbox.fair_queue import Slot
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.overruns import RecipeKey
from agent.sandbox.questions import Questions
from agent.sandbox.reasons import SandboxError, SandboxReason
from agent.sandbox.worker import Worker

_GRACE = 0.2  # the worker's own deadline comes first where the operation can keep one


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """One evaluation; `recipe` is None for an operation that is no render."""

    op: str
    params: Mapping[str, Any]
    body: bytes
    questions: Questions
    project: str
    recipe: RecipeKey | None = None


class Workers:
    def __init__(self, binary: Path, limits: SandboxLimits) -> None:
        self._binary = binary
        self._limits = limits
        self._started: set[Worker] = set()
        self._ids = itertools.count(1)

    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset[str]().union(*(worker.capabilities for worker in self._started))

    @property
    def pids(self) -> frozenset[int]:
        return frozenset(worker.pid for worker in self._started if worker.alive)

    async def start(self, nice: int = 0) -> Worker:
        worker = await Worker.start(self._binary, self._limits, nice=nice)
        self._started.add(worker)
        return worker

    async def close(self) -> None:
        async with asyncio.TaskGroup() as group:
            for worker in self._started:
                group.create_task(worker.close(), name=f"sandbox-close-{worker.pid}")
        self._started.clear()

    async def evaluate(
        self, slot: Slot[Worker | None], work: Work, deadline: float, *, nice: int = 0
    ) -> tuple[frames.Said, bytes]:
        """At the slot's worker, which is started if there is none alive; raises SandboxError."""
        try:
            return await self._attempt(slot, work, deadline, nice)
        except SandboxError as error:
            if error.reason is not SandboxReason.WORKER_DIED:
                raise
        return await self._attempt(slot, work, deadline, nice)

    async def _attempt(
        self, slot: Slot[Worker | None], work: Work, deadline: float, nice: int
    ) -> tuple[frames.Said, bytes]:
        worker = slot.content
        if worker is None or not worker.alive:
            worker = slot.content = await self._replace(worker, nice)
        request = self._request(work, deadline)
        try:
            async with asyncio.timeout(deadline + _GRACE):
                return await worker.call(request, work.body, work.questions)
        except TimeoutError as error:
            message = f"{work.op} took longer than {deadline:g} s"
            raise SandboxError(SandboxReason.DEADLINE_EXCEEDED, message) from error

    async def _replace(self, dead: Worker | None, nice: int) -> Worker:
        if dead is not None:
            await dead.close()
            self._started.discard(dead)
        return await self.start(nice)

    def _request(self, work: Work, deadline: float) -> frames.Request:
        limits = self._limits
        return frames.Request(
            id=next(self._ids),
            op=work.op,
            deadline_ms=int(deadline * 1000),
            limits=frames.Limits(
                output_bytes=limits.output_bytes,
                input_bytes=limits.input_bytes,
                questions=limits.questions,
            ),
            params=dict(work.params),
            foreseen=len(work.questions.ahead),
        )
