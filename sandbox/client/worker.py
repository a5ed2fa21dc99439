"""Worker: one child process that evaluates one request at a time.

Between two requests it waits at its standard input. Whatever interrupts a request (a deadline, a
cancelled caller, a broken frame) kills it: a worker is either in step with us or dead, there is
no third state.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from asyncio.subprocess import PIPE, Process
from contextlib import suppress
from pathlib import Path
from typing import IO

import msgspec

from sandbox.client import frames
from sandbox.client.confinement import require
from sandbox.client.errors import SandboxError, SandboxReason
from sandbox.client.evaluation import EvaluationFiles
from sandbox.client.limits import SandboxLimits

LAST_WORDS = 64 << 10
_STREAM_BUFFER = 1 << 20
_DYING = 2.0
_NO_MEMORY = ("out of memory", "cannot allocate memory", "stack exceeds", "failed to create new OS")


class Worker:
    """Started by `start`, ended by `close`; `alive` says whether it can take the next request."""

    def __init__(self, process: Process, stderr: IO[bytes], limits: SandboxLimits) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._in = process.stdin
        self._out = process.stdout
        self._stderr = stderr
        self._limits = limits
        self.capabilities: frozenset[str] = frozenset()

    @classmethod
    async def start(cls, binary: Path, limits: SandboxLimits, *, nice: int = 0) -> Worker:
        """A worker that has greeted; raises SandboxError (WorkerDied) if it does not.

        Raises SandboxUnconfinedError if it lacks a confinement that is required.

        `nice` is the CPU priority of all its threads, as nice(1) counts: 0 is the agent's own.
        """
        stderr = tempfile.TemporaryFile("ab+")  # noqa: SIM115  closed with the worker
        try:
            process = await asyncio.create_subprocess_exec(
                binary,
                f"-memory-bytes={limits.memory_bytes}",
                stdin=PIPE,
                stdout=PIPE,
                stderr=stderr,
                env={},
                limit=_STREAM_BUFFER,
                start_new_session=True,
            )
        except OSError as error:
            stderr.close()
            raise SandboxError(
                SandboxReason.WORKER_DIED, f"cannot start the sandbox worker {binary}: {error}"
            ) from error
        except asyncio.CancelledError:
            stderr.close()
            raise
        worker = cls(process, stderr, limits)
        await worker._greet()
        if nice:
            worker._lower_priority(nice)
        return worker

    @property
    def alive(self) -> bool:
        return self._process.returncode is None and not self._in.is_closing()

    @property
    def pid(self) -> int:
        return self._process.pid

    async def call(
        self, request: frames.FrameRequest, body: bytes, files: EvaluationFiles
    ) -> tuple[frames.WorkerFrame, bytes]:
        """The answer, with the worker's questions answered on the way. Raises SandboxError."""
        answered = False
        try:
            frame, content = await self._converse(request, body, files)
            answered = True
        except (OSError, asyncio.IncompleteReadError) as error:
            raise await self._obituary() from error
        except frames.FrameLimitError as error:
            raise SandboxError(SandboxReason.OUTPUT_TOO_LARGE, str(error)) from error
        except msgspec.DecodeError as error:
            raise SandboxError(
                SandboxReason.WORKER_FAILED, f"the sandbox worker broke the protocol: {error}"
            ) from error
        finally:
            if not answered:
                self.kill()
        self._stderr.truncate(0)
        if frame.error is not None:
            raise frame.error.error()
        return frame, content

    def kill(self) -> None:
        """No more requests; the process is gone a moment later."""
        self._in.close()
        if self._process.returncode is None:
            self._process.kill()

    async def close(self) -> None:
        """Kill and wait until nothing is left of it."""
        self.kill()
        await self._process.wait()
        self._stderr.close()

    def _lower_priority(self, nice: int) -> None:
        """By process group, whose only member it is: a process alone means its first thread."""
        with suppress(OSError):  # gone already, which its first request will find
            os.setpriority(os.PRIO_PGRP, self.pid, nice)

    async def _greet(self) -> None:
        greeted = False
        try:
            async with asyncio.timeout(self._limits.start_deadline):
                frame, _ = await self._receive()
            if frame.hello is None or frame.hello.protocol != frames.PROTOCOL:
                raise SandboxError(
                    SandboxReason.WORKER_DIED,
                    "the sandbox worker speaks another protocol: build it from the same sources",
                )
            self.capabilities = frozenset(frame.hello.capabilities or ())
            require(self.capabilities, self._limits.allow_missing)
            greeted = True
        except TimeoutError as error:
            raise SandboxError(
                SandboxReason.WORKER_DIED, "the sandbox worker does not start"
            ) from error
        except (OSError, asyncio.IncompleteReadError) as error:
            raise await self._obituary() from error
        finally:
            if not greeted:
                await self.close()

    async def _converse(
        self, request: frames.FrameRequest, body: bytes, files: EvaluationFiles
    ) -> tuple[frames.WorkerFrame, bytes]:
        await self._send(b"".join((frames.encode(request, body), *files.ahead)))
        while True:
            frame, content = await self._receive()
            if not frame.ask and frame.id == request.id:
                return frame, content
            if not frame.ask:
                raise msgspec.DecodeError("an answer to another request")
            await self._send(frames.encode(*files.answer(frame)))

    async def _send(self, frame: bytes) -> None:
        self._in.write(frame)
        await self._in.drain()

    async def _receive(self) -> tuple[frames.WorkerFrame, bytes]:
        prefix = await self._out.readexactly(frames.LENGTHS.size)
        head, body = frames.lengths(prefix, self._limits.output_bytes)
        frame = frames.decode(await self._out.readexactly(head))
        return frame, await self._out.readexactly(body)

    async def _obituary(self) -> SandboxError:
        """Why the process ended, from its last words; they may hold user data and stay here."""
        try:
            async with asyncio.timeout(_DYING):  # a kill now would hide the exit status
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        self._stderr.seek(0)
        words = self._stderr.read(LAST_WORDS).decode(errors="replace")
        if any(sign in words for sign in _NO_MEMORY):
            allowed = self._limits.memory_bytes >> 20
            return SandboxError(
                SandboxReason.MEMORY_EXCEEDED, f"the evaluation needs more than {allowed} MiB"
            )
        return SandboxError(
            SandboxReason.WORKER_DIED,
            f"the sandbox worker ended with {self._process.returncode} during the evaluation",
        )
