"""SopsClient asks the program `gitops-sops` to check or open encrypted objects, a process a call.

The library of SOPS is that program's (sandbox/sops). Keys and decrypted values go through pipes
only: they are in no argument, no environment and no file. The program has a deadline and a largest
answer, and its process group is killed with the call.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from handlers.application.decryption_keys import DecryptionKeys
from handlers.ports.decryption import DecryptionError, DecryptionProblem

PROGRAM = "gitops-sops"
LARGEST = 32 << 20
"""Bytes of a request and of an answer."""
_AT_ONCE = 2


class OpenedObjects(msgspec.Struct, frozen=True):
    objects: tuple[msgspec.Raw, ...] = ()
    values: tuple[str, ...] = ()
    """The texts that were encrypted."""

    def __repr__(self) -> str:
        return f"OpenedObjects({len(self.objects)})"


class _Problem(msgspec.Struct, frozen=True):
    code: str
    object: int = -1
    file: str = ""
    message: str = ""
    recipients: tuple[str, ...] = ()


class _Answer(OpenedObjects, frozen=True):
    problem: _Problem | None = None


class _File(msgspec.Struct, frozen=True):
    path: str
    content: bytes


class _Request(msgspec.Struct, frozen=True):
    call: str
    age: tuple[str, ...]
    pgp: tuple[str, ...]
    objects: tuple[msgspec.Raw, ...]
    files: tuple[_File, ...] = ()


class SopsClient:
    def __init__(self, binary: Path | None, deadline: float) -> None:
        self._binary = binary
        self._deadline = deadline
        self._at_once = asyncio.Semaphore(_AT_ONCE)

    async def verify(
        self, keys: DecryptionKeys, objects: Sequence[bytes], files: Mapping[str, bytes]
    ) -> None:
        """Check objects against their files; raises DecryptionError."""
        sent = tuple(_File(path, content) for path, content in files.items())
        await self._ask(_request("verify", keys, objects, sent))

    async def open(self, keys: DecryptionKeys, objects: Sequence[bytes]) -> OpenedObjects:
        """Open objects, in their order; raises DecryptionError."""
        opened = await self._ask(_request("open", keys, objects))
        if len(opened.objects) != len(objects):
            raise _failed(f"{PROGRAM} answered for {len(opened.objects)} of {len(objects)} objects")
        return opened

    async def _ask(self, request: bytes) -> OpenedObjects:
        if len(request) > LARGEST:
            text = f"they have {len(request)} bytes with their files; at most {LARGEST} are read"
            raise DecryptionError(DecryptionProblem.TOO_LARGE, text)
        async with self._at_once:
            content = await self._run(request)
        answer = _decoded(content)
        if answer.problem is not None:
            raise _error(answer.problem)
        return answer

    async def _run(self, request: bytes) -> bytes:
        program = self._binary or shutil.which(PROGRAM)
        if program is None:
            raise _failed(f"there is no program {PROGRAM}; name it with GITOPS_SOPS_BINARY")
        try:
            process = await asyncio.create_subprocess_exec(
                str(program),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
                start_new_session=True,
            )
        except OSError as error:
            raise _failed(f"{program} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(self._deadline):
                return await _exchange(process, request)
        except TimeoutError as error:
            text = f"it took longer than {self._deadline:g} s (GITOPS_SOPS_DEADLINE)"
            raise DecryptionError(DecryptionProblem.TOO_LARGE, text) from error
        finally:
            await _end(process)


def _request(
    call: str, keys: DecryptionKeys, objects: Sequence[bytes], files: tuple[_File, ...] = ()
) -> bytes:
    raw = tuple(msgspec.Raw(one) for one in objects)
    return msgspec.json.encode(_Request(call, keys.age, keys.pgp, raw, files))


async def _exchange(process: Process, request: bytes) -> bytes:
    if process.stdin is None or process.stdout is None:
        return b""
    with suppress(ConnectionError):
        process.stdin.write(request)
        await process.stdin.drain()
    process.stdin.close()
    content = bytearray()
    while len(content) <= LARGEST and (chunk := await process.stdout.read(1 << 16)):
        content += chunk
    return bytes(content)


async def _end(process: Process) -> None:
    """Kill what is left of the call; nothing of it has to be tidied up."""
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdin is not None:
        process.stdin.close()
    while process.stdout is not None and await process.stdout.read(1 << 16):
        """Empty the pipe: the end of the process is not seen before that of its output."""
    await process.wait()


def _decoded(content: bytes) -> _Answer:
    if len(content) > LARGEST:
        text = f"they have more than {LARGEST} bytes when they are decrypted"
        raise DecryptionError(DecryptionProblem.TOO_LARGE, text)
    try:
        return msgspec.json.decode(content, type=_Answer)
    except msgspec.DecodeError:
        # Without its context, which may quote a value.
        text = f"{PROGRAM} ended without an answer: the files may need more memory than it has"
        raise _failed(text) from None


def _error(problem: _Problem) -> DecryptionError:
    known = {one.value for one in DecryptionProblem}
    if problem.code not in known:
        return _failed(f"{PROGRAM} cannot answer: {problem.message}")
    return DecryptionError(
        DecryptionProblem(problem.code),
        problem.message,
        place=problem.object,
        file=problem.file,
        recipients=problem.recipients,
    )


def _failed(message: str) -> DecryptionError:
    return DecryptionError(DecryptionProblem.FAILED, message)
