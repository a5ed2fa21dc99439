"""The sandbox of offline commands: the path of its program, and one worker."""

from __future__ import annotations

import os
from pathlib import Path

from msgspec.structs import replace

from sandbox.client.binary import sandbox_binary
from sandbox.client.confinement import Capability
from sandbox.client.limits import SandboxLimits
from sandbox.client.pool import Sandbox

ALLOW_MISSING = "GITOPS_SANDBOX_ALLOW_MISSING"
VARIABLE = "GITOPS_SANDBOX_BINARY"


def open_sandbox() -> Sandbox:
    """Make a sandbox that is not entered yet; raises SandboxMissingError without a program."""
    configured = os.environ.get(VARIABLE)
    found = Path(configured) if configured else _built()
    limits = SandboxLimits()
    allowed = tuple(Capability(one) for one in os.environ.get(ALLOW_MISSING, "").split(",") if one)
    alone = replace(
        limits, workers=1, first_deadline=limits.deadline, allow_missing=allowed
    )  # nobody else waits
    return Sandbox(sandbox_binary(found), alone)


def _built() -> Path | None:
    """Find the program that the playground builds into the user's cache for a work tree."""
    try:
        from playground.build import SANDBOX  # noqa: PLC0415  not installed everywhere
    except ImportError:
        return None
    program = SANDBOX.build().folder / SANDBOX.name
    return program if program.is_file() else None
