"""Limits of the sandbox: how many workers, and what one evaluation may cost."""

from __future__ import annotations

import msgspec

MEBIBYTE = 1 << 20


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`memory_bytes` is on top of an idle worker; `directory_bytes` caps a folder of manifests."""

    workers: int = 2
    deadline: float = 60.0
    start_deadline: float = 30.0
    memory_bytes: int = 1024 * MEBIBYTE
    input_bytes: int = 64 * MEBIBYTE
    output_bytes: int = 64 * MEBIBYTE
    questions: int = 20_000
    directory_bytes: int = 10 * MEBIBYTE
