"""Limits of the sandbox: how many workers, and what one evaluation may cost."""

from __future__ import annotations

import msgspec

from sandbox.client.confinement import Capability

MEBIBYTE = 1 << 20


class SandboxLimits(msgspec.Struct, frozen=True, kw_only=True):
    """`memory_bytes` is on top of an idle worker; `directory_bytes` caps a folder of manifests.

    An evaluation first gets `first_deadline` seconds at one of the `workers`. One that needs more
    is made again, with `deadline` seconds, at one of the `slow_workers`. There at most
    `slow_waiting` projects wait, one evaluation each, and none longer than `slow_patience` seconds.
    """

    workers: int = 2
    first_deadline: float = 1.0
    deadline: float = 60.0
    slow_workers: int = 1
    slow_waiting: int = 4
    slow_patience: float = 100.0
    suspect_overruns: int = 3
    """From so many recipes on that overran and did not end well, a project has few callers wait."""
    suspect_waiting: int = 4
    overruns: int = 1024
    """How many recipes that needed more than `first_deadline` are remembered."""
    overrun_seconds: float = 3600.0
    """How long each of them is remembered."""
    start_deadline: float = 30.0
    memory_bytes: int = 1024 * MEBIBYTE
    input_bytes: int = 64 * MEBIBYTE
    output_bytes: int = 64 * MEBIBYTE
    questions: int = 20_000
    directory_bytes: int = 10 * MEBIBYTE
    allow_missing: tuple[Capability, ...] = ()
    """Confinements that a worker may lack; every other one is required."""

    @property
    def first(self) -> float:
        """Seconds of the first try."""
        return min(self.first_deadline, self.deadline)

    @property
    def has_slow_queue(self) -> bool:
        return self.first < self.deadline
