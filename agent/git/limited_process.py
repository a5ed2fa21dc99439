"""A limited process reads bytes that strangers wrote, and has little to do harm with.

It gets its input from standard input and open files, and no variable of ours. Processor time,
memory, the size of what it writes and the time until its end have limits; of its output only the
beginning is read. It is a leader of its own group, which is killed as a whole.
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

MOST_OUTPUT = 256 * 1024
_CPU_SECONDS = 10
_MEMORY = 512 * 1024 * 1024
_FILE_BYTES = 16 * 1024 * 1024
_LIMITS = (
    (resource.RLIMIT_CPU, _CPU_SECONDS),
    (resource.RLIMIT_AS, _MEMORY),
    (resource.RLIMIT_FSIZE, _FILE_BYTES),
    (resource.RLIMIT_CORE, 0),
)


class LimitedRun(msgspec.Struct, frozen=True):
    code: int
    output: str
    """The beginning of standard output."""


async def run_limited(
    command: Sequence[str],
    *,
    environment: Mapping[str, str],
    content: bytes = b"",
    deadline: float,
    files: Sequence[int] = (),
    most_output: int = MOST_OUTPUT,
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
        _limit(process.pid)
        async with asyncio.timeout(deadline), asyncio.TaskGroup() as tasks:
            tasks.create_task(_write(process, content), name="input of a limited process")
            output = tasks.create_task(
                _read(process, most_output), name="output of a limited process"
            )
            code = await process.wait()
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return LimitedRun(code, output.result())


def _limit(pid: int) -> None:
    """Set the limits before the input is written, without which it has nothing to work on."""
    with suppress(ProcessLookupError):
        for limit, value in _LIMITS:
            resource.prlimit(pid, limit, (value, value))


async def _write(process: Process, content: bytes) -> None:
    if process.stdin is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):
        process.stdin.write(content)
        await process.stdin.drain()
    process.stdin.close()


async def _read(process: Process, most: int) -> str:
    kept = bytearray()
    while process.stdout is not None and (chunk := await process.stdout.read(MOST_OUTPUT)):
        kept += chunk[: most - len(kept)]
    return kept.decode(errors="replace")
