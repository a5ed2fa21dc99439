"""PluginClient asks a plugin one question through the program `gitops-plugins`, a process a call.

gRPC is that program's (sandbox/plugins). A plugin that hangs or answers without an end costs this
process, which has a deadline and a largest answer of its own and is killed with the call.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from agent.plugins.plugin_sockets import PluginSocket
from agent.plugins.repository_archive import RepositoryArchive

PROGRAM = "gitops-plugins"
_GRACE = 3.0
_ENDED_BEFORE = 0.5
"""Argo CD's server ends a command a little before the deadline, and tells of the signal only."""
_ENVELOPE = 4 << 20
"""Bytes of an answer beside its manifests."""


class PluginCall(msgspec.Struct, frozen=True, kw_only=True):
    """One question: `check`, `match`, `generate` or `announce`."""

    call: str
    socket: PluginSocket
    seconds: float
    answer_bytes: int
    path: str = ""
    environment: Sequence[tuple[str, str]] = ()
    archive: RepositoryArchive | None = None


class PluginAnnouncement(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """A parameter that a plugin takes, as Argo CD's pages show it."""

    name: str
    title: str = ""
    tooltip: str = ""
    required: bool = False
    item_type: str = ""
    collection_type: str = ""
    string: str = ""
    array: tuple[str, ...] = ()
    map: dict[str, str] = {}


class PluginAnswer(msgspec.Struct, frozen=True, rename="camel"):
    discovers: bool = False
    """Whether the plugin looks at files to recognise a source."""
    git_login: bool = False
    """Whether it asks for the credential of the repository."""
    supported: bool = False
    parameters: tuple[PluginAnnouncement, ...] = ()
    error: PluginFault | None = None


class PluginFault(msgspec.Struct, frozen=True):
    code: str
    """gRPC's: `Unavailable`, `DeadlineExceeded`, `ResourceExhausted`, `Unknown`."""
    message: str


class PluginClient:
    def __init__(self, binary: Path | None) -> None:
        self._binary = binary

    async def ask(self, call: PluginCall) -> tuple[PluginAnswer, bytes]:
        """Return the answer and the manifests; whatever goes wrong is an error of the answer."""
        program = self._binary or shutil.which(PROGRAM)
        if program is None:
            return _fault("Unavailable", f"there is no program {PROGRAM}: GITOPS_PLUGINS_BINARY")
        archive = call.archive.file.fileno() if call.archive else 0
        begun = time.monotonic()
        try:
            process = await asyncio.create_subprocess_exec(
                str(program),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                env={},
                pass_fds=(archive,) if archive else (),
                start_new_session=True,
            )
        except OSError as error:
            return _fault("Unavailable", f"{program} cannot be started: {error.strerror}")
        try:
            async with asyncio.timeout(call.seconds + _GRACE):
                content = await _exchange(process, _request(call, archive), _most(call))
        except TimeoutError:
            return _fault("DeadlineExceeded", "no answer in time")
        finally:
            await _end(process)
        answer, manifests = _answer(content, _most(call))
        if answer.error and time.monotonic() - begun > call.seconds - _ENDED_BEFORE:
            return _fault("DeadlineExceeded", answer.error.message)
        return answer, manifests


def _request(call: PluginCall, archive: int) -> bytes:
    about: dict[str, Any] = {
        "call": call.call,
        "socket": str(call.socket.path),
        "name": call.path.rpartition("/")[2] or ".",
        "path": call.path or ".",
        "env": [{"name": name, "value": value} for name, value in call.environment],
        "archive": archive,
        "checksum": call.archive.checksum if call.archive else "",
        "size": call.archive.size if call.archive else 0,
        "seconds": call.seconds,
        "answerBytes": call.answer_bytes,
    }
    return msgspec.json.encode(about)


def _most(call: PluginCall) -> int:
    return call.answer_bytes + _ENVELOPE


async def _exchange(process: Process, request: bytes, most: int) -> bytes:
    if process.stdin is None or process.stdout is None:
        return b""
    with suppress(ConnectionError):
        process.stdin.write(request)
        await process.stdin.drain()
        process.stdin.close()
    content = bytearray()
    while len(content) <= most and (chunk := await process.stdout.read(1 << 16)):
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


def _answer(content: bytes, most: int) -> tuple[PluginAnswer, bytes]:
    if len(content) > most:
        return _fault("ResourceExhausted", "the answer is too large")
    line, _, manifests = content.partition(b"\n")
    try:
        return msgspec.json.decode(line, type=PluginAnswer), manifests
    except msgspec.DecodeError:
        return _fault("Internal", f"{PROGRAM} ended without an answer")


def _fault(code: str, message: str) -> tuple[PluginAnswer, bytes]:
    return PluginAnswer(error=PluginFault(code, message)), b""
