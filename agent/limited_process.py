"""A limited process works on bytes that strangers wrote, and has little to do harm with.

It gets its input from standard input and open files, and no variable of ours. The time until its
end has a limit, and so have processor time, memory and the size of what it writes unless the caller
sets other ones; of its output only the beginning is kept. It is a leader of its own group, which is
killed as a whole.
"""

from __future__ import annotations

import asyncio
import os
import resource
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec

_CPU_SECONDS = 10
_MEMORY = 512 * 1024 * 1024
_FILE_BYTES = 16 * 1024 * 1024
_CHUNK = 64 * 1024
_RESOURCES = (
    (resource.RLIMIT_CPU, _CPU_SECONDS),
    (resource.RLIMIT_AS, _MEMORY),
    (resource.RLIMIT_FSIZE, _FILE_BYTES),
    (resource.RLIMIT_CORE, 0),
)


class ProcessLimits(msgspec.Struct, frozen=True, kw_only=True):
    seconds: float
    output_bytes: int = 256 * 1024
    resources: tuple[tuple[int, int], ...] = _RESOURCES
    """Pairs of a resource, as `resource.RLIMIT_CPU`, and its most."""


class LimitedRun(msgspec.Struct, frozen=True):
    code: int
    output: bytes
    """The beginning of standard output."""

    @property
    def text(self) -> str:
        return self.output.decode(errors="replace")


async def run_limited(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    limits: ProcessLimits,
    content: bytes = b"",
    files: Sequence[int] = (),
) -> LimitedRun:
    """Run a program; raises OSError where there is none, and TimeoutError when it is killed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=dict(environment),
        pass_fds=tuple(files),
        start_new_session=True,
    )
    try:
        _limit(process.pid, limits.resources)
        async with asyncio.timeout(limits.seconds), asyncio.TaskGroup() as tasks:
            tasks.create_task(_write(process, content), name="input of a limited process")
            output = tasks.create_task(
                _read(process, limits.output_bytes), name="output of a limited process"
            )
            code = await process.wait()
    finally:
        await _end(process)
    return LimitedRun(code, output.result())


def _limit(pid: int, resources: Sequence[tuple[int, int]]) -> None:
    """Set the limits before the input is written, without which it has nothing to work on."""
    with suppress(ProcessLookupError):
        for limit, value in resources:
            resource.prlimit(pid, limit, (value, value))


async def _write(process: Process, content: bytes) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(content)
        await process.stdin.drain()
    process.stdin.close()


async def _read(process: Process, most: int) -> bytes:
    kept = bytearray()
    while process.stdout is not None and (chunk := await process.stdout.read(_CHUNK)):
        kept += chunk[: most - len(kept)]
    return bytes(kept)


async def _end(process: Process) -> None:
    """Kill what is left of the group; nothing of it has to be tidied up."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    while process.stdout is not None and await process.stdout.read(_CHUNK):
        """Empty the pipe: the end of the process is not seen before that of its output."""
    await process.wait()
