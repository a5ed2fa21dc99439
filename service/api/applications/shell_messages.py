"""Messages of the WebSocket of a shell, JSON text each: input, sizes, output and the end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import msgspec

from bus.link import TerminalInput

LARGEST_MESSAGE = 64 * 1024
"""Bytes of one message of the reader."""
_PIECE = 1000
"""Characters: a signal holds 8000 bytes, and one character may be six of them in JSON."""
_SIDE = msgspec.Meta(ge=1, le=1000)


class ShellInput(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="input"):
    """What somebody typed."""

    text: str


class ShellSize(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="size"):
    """The size of the terminal, in characters."""

    columns: Annotated[int, _SIDE]
    rows: Annotated[int, _SIDE]


class ShellOutput(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="output"):
    text: str


class ShellEnd(
    msgspec.Struct, frozen=True, kw_only=True, rename="camel", tag_field="type", tag="end"
):
    """The last message: the exit code, or why there is none."""

    exit_code: int | None = None
    reason: str = ""


_READER: msgspec.json.Decoder[ShellInput | ShellSize] = msgspec.json.Decoder(ShellInput | ShellSize)


def read_shell_message(text: str) -> ShellInput | ShellSize:
    """Read a message; raises msgspec.MsgspecError for one that cannot be understood."""
    try:
        return _READER.decode(text)
    except (UnicodeError, RecursionError) as error:
        raise msgspec.DecodeError(str(error)) from error


def frames_of(task: str, first: int, message: ShellInput | ShellSize) -> Iterator[TerminalInput]:
    """Cut a message into frames for the agent, each small enough for a signal."""
    if isinstance(message, ShellSize):
        yield TerminalInput(task=task, number=first, columns=message.columns, rows=message.rows)
        return
    for number, start in enumerate(range(0, len(message.text), _PIECE), first):
        yield TerminalInput(task=task, number=number, text=message.text[start : start + _PIECE])
