"""The sandbox for offline commands: where its program is, and one worker of it."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from agent.sandbox.binary import sandbox_binary
from agent.sandbox.confinement import Capability
from agent.sandbox.limits import SandboxLimits
from agent.sandbox.pool import Sandbox

ALLOW_MISSING = "GITOPS_SANDBOX_ALLOW_MISSING"
VARIABLE = "GITOPS_SANDBOX_BINARY"


def open_sandbox() -> Sandbox:
    """Not yet entered; raises SandboxMissingError where there is no program."""
    given = os.environ.get(VARIABLE)
    found = Path(given) if given else _built()
    limits = SandboxLimits()
    allowed = tuple(Capability(one) for one in os.environ.get(ALLOW_MISSING, "").split(",") if one)
    alone = replace(
        limits, workers=1, first_deadline=limits.deadline, allow_missing=allowed
    )  # nobody else waits
    return Sandbox(sandbox_binary(found), alone)


def _built() -> Path | None:
    """In a work tree the playground builds it into the user's cache."""
    try:
        from playground.build import SANDBOX_PROGRAM, sandbox_build  # noqa: PLC0415  not installed everywhere
    except ImportError:
        return None
    program = sandbox_build().folder / SANDBOX_PROGRAM
    return program if program.is_file() else None
