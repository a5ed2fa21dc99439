"""A frame is u32 header length, u32 body length (big-endian), header as JSON, body as bytes.

Pure: bytes and values. The worker's half is sandbox/worker/internal/wire.
"""

from __future__ import annotations

import struct
from typing import Any

import msgspec

from sandbox.client.errors import SandboxError, SandboxReason, WantedBase, WantedChart

PROTOCOL = 2
LENGTHS = struct.Struct(">II")
MAX_HEADER = 16 << 20


class WorkerOrigin(msgspec.Struct, frozen=True):
    """Where an object was written: `document` counts from 1 in `file`; 0 when not known."""

    file: str
    document: int = 0


class FrameLimitError(Exception):
    """The other side announced a frame that is larger than anything it may send."""


class FrameLimits(msgspec.Struct, frozen=True, kw_only=True):
    output_bytes: int
    input_bytes: int
    questions: int


class FrameRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One piece of work; `params` are the operation's own, see its package in the worker.

    `foreseen` frames follow it: answers to questions that will be asked in any case.
    """

    id: int
    op: str
    deadline_ms: int
    limits: FrameLimits
    params: dict[str, Any]
    foreseen: int = 0


class WorkerFailure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: SandboxReason
    message: str
    file: str = ""
    document: int = 0
    line: int = 0
    dependencies: tuple[WantedChart, ...] = ()
    bases: tuple[WantedBase, ...] = ()

    def error(self) -> SandboxError:
        return SandboxError(
            self.reason,
            self.message,
            file=self.file,
            document=self.document,
            line=self.line,
            wanted=(*self.dependencies, *self.bases),
        )


class WorkerGreeting(msgspec.Struct, frozen=True, kw_only=True):
    protocol: int
    capabilities: tuple[str, ...] | None = None


class WorkerFrame(msgspec.Struct, frozen=True, kw_only=True):
    """Anything a worker says: the greeting at its start, a question (`ask`), or an answer."""

    id: int = 0
    ask: str = ""
    path: str = ""
    ref: str = ""
    """Of another source, whose file is asked for."""
    ok: bool = False
    error: WorkerFailure | None = None
    origins: tuple[WorkerOrigin, ...] = ()
    hello: WorkerGreeting | None = None


class NamedEntry(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    kind: str


class WorkerReply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agent's answer to a question; a file's content is the body."""

    kind: str = ""
    size: int = 0
    path: str = ""
    entries: tuple[NamedEntry, ...] = ()
    error: WorkerFailure | None = None


class Foreseen(msgspec.Struct, frozen=True, kw_only=True):
    """An answer before its question, which is `ask` about the path `of`."""

    ask: str
    of: str
    reply: WorkerReply


_decoder = msgspec.json.Decoder(WorkerFrame)


def encode(header: FrameRequest | WorkerReply | Foreseen, body: bytes = b"") -> bytes:
    head = msgspec.json.encode(header)
    return b"".join((LENGTHS.pack(len(head), len(body)), head, body))


def lengths(prefix: bytes, max_body: int) -> tuple[int, int]:
    """Sizes of header and body; raises FrameLimitError."""
    head, body = LENGTHS.unpack(prefix)
    if head > MAX_HEADER or body > max_body:
        raise FrameLimitError(f"a frame of {head} + {body} bytes is over the limit")
    return head, body


def decode(header: bytes) -> WorkerFrame:
    return _decoder.decode(header)
