"""The wire: u32 header length, u32 body length (big-endian), header as JSON, body as bytes.

Pure: bytes and values. The worker's half is sandbox/frames.go.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from agent.sandbox.reasons import SandboxError, SandboxReason
from handlers.render.recipe import Origin

PROTOCOL = 2
LENGTHS = struct.Struct(">II")
MAX_HEADER = 16 << 20


class FrameLimitError(Exception):
    """The other side announced a frame that is larger than anything it may send."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    output_bytes: int
    input_bytes: int
    questions: int


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work; `params` are the operation's own (see its file in sandbox/).

    `foreseen` frames follow it: answers to questions that will be asked in any case.
    """

    id: int
    op: str
    deadline_ms: int
    limits: Limits
    params: dict[str, Any]
    foreseen: int = 0


class Failure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: SandboxReason
    message: str
    file: str = ""
    document: int = 0
    line: int = 0

    def error(self) -> SandboxError:
        return SandboxError(
            self.reason, self.message, file=self.file, document=self.document, line=self.line
        )


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    protocol: int
    capabilities: tuple[str, ...] | None = None


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """Anything a worker says: the greeting at its start, a question (`ask`), or an answer."""

    id: int = 0
    ask: str = ""
    path: str = ""
    ok: bool = False
    error: Failure | None = None
    origins: tuple[Origin, ...] = ()
    hello: Greeting | None = None


class Named(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agent's answer to a question; a file's content is the body."""

    kind: str = ""
    size: int = 0
    path: str = ""
    entries: tuple[Named, ...] = ()
    error: Failure | None = None


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """An answer before its question, which is `ask` about the path `of`."""

    ask: str
    of: str
    reply: Reply


_said = msgspec.json.Decoder(Said)


def encode(header: Request | Reply | Foreseen, body: bytes = b"") -> bytes:
    head = msgspec.json.encode(header)
    return b"".join((LENGTHS.pack(len(head), len(body)), head, body))


def lengths(prefix: bytes, max_body: int) -> tuple[int, int]:
    """Sizes of header and body; raises FrameLimitError."""
    head, body = LENGTHS.unpack(prefix)
    if head > MAX_HEADER or body > max_body:
        raise FrameLimitError(f"a frame of {head} + {body} bytes is over the limit")
    return head, body


def decode(header: bytes) -> Said:
    return _said.decode(header)
