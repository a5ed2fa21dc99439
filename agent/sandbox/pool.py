"""Sandbox: a few workers, a queue before them, and a fresh worker for each one that was lost.

Concurrency: `_idle` holds one item for every slot. A request takes a slot, starts a new worker
there if the old one is dead, and gives the slot back in every case, also when its caller is
cancelled. So the number of workers is fixed, nothing runs in the background, and there is nothing
to supervise.

A worker that dies under a request through no fault of the request (someone killed it) is worth
one second try: evaluations have no effects.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agent.sandbox import frames
from agent.sandbox.foresight import certain
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.questions import Questions
from agent.sandbox.reasons import SandboxError, SandboxReason
from agent.sandbox.requests import request_of
from agent.sandbox.worker import Worker
from handlers.ports import Tree
from handlers.render.recipe import Recipe, Rendered, RenderError

_GRACE = 0.2  # the worker's own deadline comes first where the operation can keep one


class Sandbox:
    """The Renderer port, and any other operation by name. Use as `async with`."""

    def __init__(self, binary: Path, limits: SandboxLimits | None = None) -> None:
        self._binary = binary
        self._limits = limits or SandboxLimits()
        self._idle: asyncio.LifoQueue[Worker | None] = asyncio.LifoQueue()
        self._started: set[Worker] = set()
        self._ids = itertools.count(1)

    async def __aenter__(self) -> Self:
        for _ in range(self._limits.workers):
            self._idle.put_nowait(None)
        first = (
            await self._start()
        )  # a binary that does not work is found now, not at the first push
        self._idle.get_nowait()
        self._idle.put_nowait(first)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        async with asyncio.TaskGroup() as group:
            for worker in self._started:
                group.create_task(worker.close(), name=f"sandbox-close-{worker.pid}")
        self._started.clear()

    @property
    def capabilities(self) -> frozenset[str]:
        """What confines the workers on this machine: rlimit_as, no_core, no_new_privs, seccomp."""
        return frozenset[str]().union(*(worker.capabilities for worker in self._started))

    @property
    def pids(self) -> frozenset[int]:
        """Processes of the pool that live now."""
        return frozenset(worker.pid for worker in self._started if worker.alive)

    async def render(self, recipe: Recipe, tree: Tree) -> Rendered:
        """Evaluate in the sandbox; raises RenderError."""
        questions = Questions(tree, self._limits.input_bytes)
        questions.foresee(certain(recipe, tree))
        op, params = request_of(recipe, self._limits)
        try:
            said, body = await self._run(op, params, b"", questions)
        except SandboxError as error:
            raise RenderError(
                error.reason.reason,
                error.message,
                file=error.file,
                document=error.document,
                line=error.line,
            ) from error
        objects = tuple(body.splitlines())
        return Rendered(objects=objects, origins=said.origins, read_set=questions.read_set)

    async def evaluate(
        self, op: str, params: Mapping[str, Any], body: bytes = b"", *, tree: Tree | None = None
    ) -> bytes:
        """Any operation of sandbox/operations.go; raises SandboxError."""
        questions = Questions(tree, self._limits.input_bytes)
        _, answer = await self._run(op, params, body, questions)
        return answer

    async def _run(
        self, op: str, params: Mapping[str, Any], body: bytes, questions: Questions
    ) -> tuple[frames.Said, bytes]:
        request = self._request(op, params, foreseen=len(questions.ahead))
        try:
            return await self._attempt(request, body, questions)
        except SandboxError as error:
            if error.reason is not SandboxReason.WORKER_DIED:
                raise
        return await self._attempt(request, body, questions)

    async def _attempt(
        self, request: frames.Request, body: bytes, questions: Questions
    ) -> tuple[frames.Said, bytes]:
        worker = await self._idle.get()
        try:
            if worker is None or not worker.alive:
                worker = await self._replace(worker)
            async with asyncio.timeout(self._limits.deadline + _GRACE):
                return await worker.call(request, body, questions)
        except TimeoutError as error:
            raise SandboxError(
                SandboxReason.DEADLINE_EXCEEDED,
                f"{request.op} took longer than {self._limits.deadline:g} s",
            ) from error
        finally:
            self._idle.put_nowait(worker)

    async def _replace(self, dead: Worker | None) -> Worker:
        if dead is not None:
            await dead.close()
            self._started.discard(dead)
        return await self._start()

    async def _start(self) -> Worker:
        worker = await Worker.start(self._binary, self._limits)
        self._started.add(worker)
        return worker

    def _request(self, op: str, params: Mapping[str, Any], foreseen: int) -> frames.Request:
        limits = self._limits
        return frames.Request(
            id=next(self._ids),
            op=op,
            deadline_ms=int(limits.deadline * 1000),
            limits=frames.Limits(
                output_bytes=limits.output_bytes,
                input_bytes=limits.input_bytes,
                questions=limits.questions,
            ),
            params=dict(params),
            foreseen=foreseen,
        )
