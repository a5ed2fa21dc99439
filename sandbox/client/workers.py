"""Workers are the processes of a pool: one is started where it is missing, for one evaluation.

A worker that dies under a request through no fault of the request (someone killed it) is worth
one second try: evaluations have no effects.
"""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

from sandbox.client import frames
from sandbox.client.errors import SandboxError, SandboxReason
from sandbox.client.evaluation import Evaluation
from sandbox.client.fair_queue import Slot
from sandbox.client.limits import SandboxLimits
from sandbox.client.worker import Worker

_GRACE = 0.2  # the worker's own deadline comes first where the operation can keep one


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
        self, slot: Slot[Worker | None], work: Evaluation, deadline: float, *, nice: int = 0
    ) -> tuple[frames.WorkerFrame, bytes]:
        """At the slot's worker, which is started if there is none alive; raises SandboxError."""
        try:
            return await self._attempt(slot, work, deadline, nice)
        except SandboxError as error:
            if error.reason is not SandboxReason.WORKER_DIED:
                raise
        return await self._attempt(slot, work, deadline, nice)

    async def _attempt(
        self, slot: Slot[Worker | None], work: Evaluation, deadline: float, nice: int
    ) -> tuple[frames.WorkerFrame, bytes]:
        worker = slot.content
        if worker is None or not worker.alive:
            worker = slot.content = await self._replace(worker, nice)
        request = self._request(work, deadline)
        try:
            async with asyncio.timeout(deadline + _GRACE):
                return await worker.call(request, work.body, work.files)
        except TimeoutError as error:
            message = f"{work.op} took longer than {deadline:g} s"
            raise SandboxError(SandboxReason.DEADLINE_EXCEEDED, message) from error

    async def _replace(self, dead: Worker | None, nice: int) -> Worker:
        if dead is not None:
            await dead.close()
            self._started.discard(dead)
        return await self.start(nice)

    def _request(self, work: Evaluation, deadline: float) -> frames.FrameRequest:
        limits = self._limits
        return frames.FrameRequest(
            id=next(self._ids),
            op=work.op,
            deadline_ms=int(deadline * 1000),
            limits=frames.FrameLimits(
                output_bytes=limits.output_bytes,
                input_bytes=limits.input_bytes,
                questions=limits.questions,
            ),
            params=dict(work.params),
            foreseen=len(work.files.ahead),
        )
