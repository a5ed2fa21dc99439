"""PluginClient asks a plugin one question through the program `gitops-plugins`, a process a call.

gRPC is that program's (sandbox/plugins). A plugin that hangs or answers without an end costs this
process, which has a deadline and a largest answer of its own and is killed with the call.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from agent.limited_process import ProcessLimits, run_limited
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
            run = await run_limited(
                (str(program),),
                environment={},
                limits=ProcessLimits(
                    seconds=call.seconds + _GRACE, output_bytes=_most(call) + 1, resources=()
                ),
                content=_request(call, archive),
                files=(archive,) if archive else (),
            )
        except TimeoutError:
            return _fault("DeadlineExceeded", "no answer in time")
        except OSError as error:
            return _fault("Unavailable", f"{program} cannot be started: {error.strerror}")
        answer, manifests = _answer(run.output, _most(call))
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
