"""The channels of a shell in a container: what the WebSocket of `pods/exec` carries. Pure.

The first byte of each message names its channel (remotecommand protocol v5 and v4 of Kubernetes):
0 input, 1 output, 2 errors, 3 the Status with which the command ended, 4 the size of the terminal,
and since v5 255, which closes the channel that it names.
"""

from __future__ import annotations

from enum import IntEnum

import msgspec

V5, V4 = "v5.channel.k8s.io", "v4.channel.k8s.io"
PROTOCOLS = (V5, V4)
"""The newest first: the API server takes the first that it knows."""
LARGEST_SIDE = 1000
"""Columns or rows of a terminal."""
_LONGEST_MESSAGE = 500
_NOT_FOUND_CODES = (126, 127)
"""What a container runtime reports where it cannot run a command, or does not find it."""
_NOT_FOUND_PHRASES = ("executable file not found", "no such file or directory")


class Channel(IntEnum):
    INPUT = 0
    OUTPUT = 1
    ERRORS = 2
    STATUS = 3
    SIZE = 4
    CLOSE = 255


class ExecEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a command ended: with an exit code, or with a failure before it ran."""

    exit_code: int | None = None
    message: str = ""
    """Why there is no exit code."""


class _Size(msgspec.Struct, frozen=True):
    Width: int
    Height: int


class _Cause(msgspec.Struct, frozen=True):
    reason: str = ""
    message: str = ""


class _Details(msgspec.Struct, frozen=True):
    causes: tuple[_Cause, ...] = ()


class _Status(msgspec.Struct, frozen=True):
    status: str = ""
    message: str = ""
    reason: str = ""
    details: _Details | None = None


def input_message(data: bytes) -> bytes:
    return bytes((Channel.INPUT,)) + data


def size_message(columns: int, rows: int) -> bytes:
    """Sizes outside of what a terminal has become the nearest that one has."""
    size = _Size(_side(columns), _side(rows))
    return bytes((Channel.SIZE,)) + msgspec.json.encode(size)


def close_message() -> bytes:
    """End the input of the command; for v5 only."""
    return bytes((Channel.CLOSE, Channel.INPUT))


def read_message(raw: bytes) -> bytes | ExecEnd:
    """Read a message of the API server; empty bytes for what says nothing here."""
    channel, data = raw[:1], raw[1:]
    if channel in (bytes((Channel.OUTPUT,)), bytes((Channel.ERRORS,))):
        return data
    return _end(data) if channel == bytes((Channel.STATUS,)) and data else b""


def is_shell_missing(end: ExecEnd, *, used: bool) -> bool:
    """Whether the container has no such shell; `used`: somebody typed into it already.

    Runtimes say that in the failure, or as an exit code that a shell in use may have of its own.
    """
    if any(phrase in end.message for phrase in _NOT_FOUND_PHRASES):
        return True
    return end.exit_code in _NOT_FOUND_CODES and not used


def _side(length: int) -> int:
    return min(max(1, length), LARGEST_SIDE)


def _end(data: bytes) -> ExecEnd:
    try:
        status = msgspec.json.decode(data, type=_Status)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return ExecEnd(message=data.decode(errors="replace")[:_LONGEST_MESSAGE])
    if status.status == "Success":
        return ExecEnd(exit_code=0)
    causes = status.details.causes if status.details else ()
    codes = (it.message for it in causes if it.reason == "ExitCode")
    code = next((it for it in codes if it.isascii() and it.isdecimal()), "")
    if code and len(code) < len("1000"):
        return ExecEnd(exit_code=int(code))
    return ExecEnd(message=(status.message or "the command failed")[:_LONGEST_MESSAGE])
