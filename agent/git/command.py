"""A run of the `git` program has a deadline and leaves no process or file behind.

Git starts helpers of its own (`git-remote-https`, `index-pack`), so every run is a process group:
at the deadline or when we are cancelled the whole group is asked to end, which lets Git remove its
lock files, and is killed a second later. Standard error is read up to a limit; the rest is dropped.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

_GRACE = 1.0
_COMPLAINT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class GitRun:
    code: int
    complaint: str
    """The beginning of standard error."""


async def run_git(
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    deadline: float,
    files: tuple[int, ...] = (),
) -> GitRun:
    """Run `git` with exactly `environment`. TimeoutError at the deadline, when it is gone.

    `files` are open ones that it inherits under their numbers.
    """
    process = await asyncio.create_subprocess_exec(
        "git",
        *arguments,
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
        env=dict(environment),
        pass_fds=files,
        start_new_session=True,
    )
    try:
        async with asyncio.timeout(deadline):
            complaint = await _complaint(process)
            code = await process.wait()
    finally:
        await _end(process)
    return GitRun(code, complaint)


async def _complaint(process: Process) -> str:
    stream = process.stderr
    if stream is None:
        return ""
    kept = b""
    while chunk := await stream.read(_COMPLAINT_BYTES):
        kept += chunk[: _COMPLAINT_BYTES - len(kept)]
    return kept.decode(errors="replace")


async def _end(process: Process) -> None:
    if process.returncode is not None:
        return
    _signal(process, signal.SIGTERM)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE):
                await process.wait()
    finally:
        _signal(process, signal.SIGKILL)
    await process.wait()


def _signal(process: Process, number: signal.Signals) -> None:
    """To the whole group: its number is that of the process that started it."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, number)
