"""ShellSession: copies input and output between the requester and one shell, within limits.

    TerminalInput -> TaskInput -> container -> a few messages that wait -> TextStream -> service

The output that waits is bounded, and nothing more is read meanwhile: the credit of the requester
slows the program in the container, as a slow terminal would.
"""

from __future__ import annotations

import asyncio
import codecs
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from agent.bridge.tasks.task_context import TaskFailedError, TextStream
from agent.bridge.tasks.task_input import InputEndedError, TaskInput
from agent.kube.exec_channels import ExecEnd
from agent.kube.pod_exec import PodExec

_MESSAGES_WAITING = 8
_CHUNK_BYTES = 12 * 1024
_SIGN_SECONDS = 20.0
"""Without output before an empty chunk: the service ends a silent stream."""
_WATCH_SECONDS = 1.0
_PROMPT_SECONDS = 2.0
"""For the first output: input before it would be lost to a shell that is not there."""


class ShellLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Times in seconds; `idle` is time without input and output."""

    idle: float = 900.0
    longest: float = 7200.0
    most_output: int = 256 * 1024 * 1024
    most_input: int = 16 * 1024 * 1024
    output_per_second: int = 1024 * 1024
    at_once: int = 4
    """Shells of one agent."""


@dataclass(slots=True, kw_only=True)
class ShellSession:
    pod_exec: PodExec
    stream: TextStream
    input: TaskInput
    limits: ShellLimits
    problem: Callable[[], str]
    """Why the shell may not go on; empty while it may."""
    clock: Callable[[], float] = time.monotonic
    sent: int = 0
    """Bytes of output."""
    received: int = 0
    """Bytes of input."""
    _began: float = 0.0
    _active: float = 0.0
    _output: asyncio.Queue[bytes] = field(init=False)
    """Ends with an empty message."""
    _prompted: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self._output = asyncio.Queue(_MESSAGES_WAITING)

    async def run(self) -> ExecEnd:
        """Return how the shell ended; raises TaskFailedError where it was ended from outside."""
        self._began = self._active = self.clock()
        try:
            async with asyncio.TaskGroup() as tasks:
                reading = tasks.create_task(self._read(), name="output of a shell")
                typing = tasks.create_task(self._type(), name="input of a shell")
                watching = tasks.create_task(self._watch(), name="limits of a shell")
                await self._send()
                typing.cancel()
                watching.cancel()
        except BaseExceptionGroup as errors:
            raise _first(errors) from None
        return reading.result()

    async def _read(self) -> ExecEnd:
        while not isinstance(found := await self.pod_exec.read(), ExecEnd):
            if found:
                self._active = self.clock()
                self._prompted.set()
                await self._output.put(found)
        await self._output.put(b"")
        return found

    async def _send(self) -> None:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        while (chunk := await self._chunk()) != b"":
            self.sent += len(chunk or b"")
            if self.sent > self.limits.most_output:
                raise _ended(f"its output exceeded {self.limits.most_output >> 20} MiB")
            await self.stream.send(decoder.decode(chunk or b"").replace("\0", ""))
            await asyncio.sleep(len(chunk or b"") / self.limits.output_per_second)

    async def _chunk(self) -> bytes | None:
        """Return the output that waits, empty at its end; None after a while without any."""
        limit = asyncio.timeout(_SIGN_SECONDS)
        try:
            async with limit:
                chunk = await self._output.get()
        except TimeoutError:
            return None
        while chunk and len(chunk) < _CHUNK_BYTES and not self._output.empty():
            if not (more := self._output.get_nowait()):
                self._output.put_nowait(more)
                break
            chunk += more
        return chunk

    async def _type(self) -> None:
        await self._until_prompted()
        while True:
            try:
                frame = await self.input.take()
            except InputEndedError as error:
                raise _ended(str(error)) from error
            if frame.columns and frame.rows:
                await self.pod_exec.resize(frame.columns, frame.rows)
            if frame.text:
                await self._write(frame.text.encode(errors="replace"))

    async def _until_prompted(self) -> None:
        try:
            async with asyncio.timeout(_PROMPT_SECONDS):
                await self._prompted.wait()
        except TimeoutError:
            return

    async def _write(self, data: bytes) -> None:
        self._active = self.clock()
        self.received += len(data)
        if self.received > self.limits.most_input:
            raise _ended(f"its input exceeded {self.limits.most_input >> 20} MiB")
        await self.pod_exec.write(data)

    async def _watch(self) -> None:
        """Look at limits and permission each second: both may end a shell in which nobody types."""
        while True:
            if problem := self.problem():
                raise TaskFailedError("not_allowed", f"the shell was ended: {problem}")
            now = self.clock()
            if now - self._active >= self.limits.idle:
                raise _ended(f"nothing came and went for {self.limits.idle:g} s")
            if now - self._began >= self.limits.longest:
                raise _ended(f"it was open for {self.limits.longest:g} s, the longest time")
            await asyncio.sleep(min(_WATCH_SECONDS, self.limits.idle / 4))


def _ended(why: str) -> TaskFailedError:
    return TaskFailedError("expired", f"the shell was ended: {why}")


def _first(errors: BaseException) -> BaseException:
    """The error that ended a group of tasks, as if none stood between."""
    while isinstance(errors, BaseExceptionGroup):
        errors = errors.exceptions[0]
    return errors
