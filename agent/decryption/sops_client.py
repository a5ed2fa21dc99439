"""SopsClient asks the program `gitops-sops` to check or open encrypted objects, a process a call.

The library of SOPS is that program's (sandbox/sops). Keys and decrypted values go through pipes
only: they are in no argument, no environment and no file.
"""

from __future__ import annotations

import asyncio
import resource
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from agent.decryption.project_keys import ProjectKeys
from agent.limited_process import ProcessLimits, run_limited
from handlers.application.decryption_keys import DecryptionKeys
from handlers.ports.decryption import DecryptionError, DecryptionProblem

PROGRAM = "gitops-sops"
LARGEST = 48 << 20
"""Bytes of a request and of an answer."""
AT_ONCE = 2
LARGEST_MEMORY = 512 << 20
"""Bytes of a call; a file of nothing but tiny values takes all of it before it is refused."""
_RESOURCES = (
    (resource.RLIMIT_DATA, LARGEST_MEMORY),
    (resource.RLIMIT_FSIZE, 0),
    (resource.RLIMIT_CORE, 0),  # it would hold the keys
)


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
        self._at_once = asyncio.Semaphore(AT_ONCE)
        self._turns: dict[str, asyncio.Semaphore] = {}
        """By project: one takes not all of the time."""

    async def verify(
        self, keys: ProjectKeys, objects: Sequence[bytes], files: Mapping[str, bytes]
    ) -> None:
        """Check objects against their files; raises DecryptionError."""
        sent = tuple(_File(path, content) for path, content in files.items())
        await self._ask(keys.project, _request("verify", keys.keys, objects, sent))

    async def open(self, keys: ProjectKeys, objects: Sequence[bytes]) -> OpenedObjects:
        """Open objects, in their order; raises DecryptionError."""
        opened = await self._ask(keys.project, _request("open", keys.keys, objects))
        if len(opened.objects) != len(objects):
            raise _failed(f"{PROGRAM} answered for {len(opened.objects)} of {len(objects)} objects")
        return opened

    async def _ask(self, project: str, request: bytes) -> OpenedObjects:
        if len(request) > LARGEST:
            text = f"they have {len(request)} bytes with their files; at most {LARGEST} are read"
            raise DecryptionError(DecryptionProblem.TOO_LARGE, text)
        turn = self._turns.setdefault(project, asyncio.Semaphore(1))
        async with turn, self._at_once:
            content = await self._run(request)
        answer = _decoded(content)
        if answer.problem is not None:
            raise _error(answer.problem)
        return answer

    async def _run(self, request: bytes) -> bytes:
        program = self._binary or shutil.which(PROGRAM)
        if program is None:
            raise _failed(f"there is no program {PROGRAM}; name it with GITOPS_SOPS_BINARY")
        limits = ProcessLimits(
            seconds=self._deadline, output_bytes=LARGEST + 1, resources=_RESOURCES
        )
        try:
            run = await run_limited((str(program),), environment={}, limits=limits, content=request)
        except TimeoutError as error:
            text = f"it took longer than {self._deadline:g} s (GITOPS_SOPS_DEADLINE)"
            raise DecryptionError(DecryptionProblem.TOO_LARGE, text) from error
        except OSError as error:
            raise _failed(f"{program} cannot be started: {error.strerror}") from error
        return run.output


def _request(
    call: str, keys: DecryptionKeys, objects: Sequence[bytes], files: tuple[_File, ...] = ()
) -> bytes:
    raw = tuple(msgspec.Raw(one) for one in objects)
    return msgspec.json.encode(_Request(call, keys.age, keys.pgp, raw, files))


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
