"""The sandbox for offline commands: where its program is, and one worker of it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from agent.sandbox.limits import SandboxLimits
from agent.sandbox.pool import Sandbox

VARIABLE = "GITOPS_SANDBOX_BINARY"
PROGRAM = "gitops-sandbox"


class NoSandboxError(Exception):
    """The program that reads YAML and renders is nowhere to be found."""


def open_sandbox() -> Sandbox:
    """Not yet entered; raises NoSandboxError."""
    return Sandbox(sandbox_program(), SandboxLimits(workers=1, deadline=60.0))


def sandbox_program() -> Path:
    """The one the variable names, one on PATH, or the one built for this work tree."""
    given = os.environ.get(VARIABLE)
    found = given or shutil.which(PROGRAM) or _built()
    if found is None or not Path(found).is_file():
        raise NoSandboxError(
            f"no {PROGRAM} at {given or 'PATH'}: build it with `make setup`, or set {VARIABLE}"
        )
    return Path(found)


def _built() -> str | None:
    """In a work tree the playground builds it into the user's cache."""
    try:
        from playground.build import SANDBOX_PROGRAM, sandbox_build  # noqa: PLC0415  not installed everywhere
    except ImportError:
        return None
    program = sandbox_build().folder / SANDBOX_PROGRAM
    return str(program) if program.is_file() else None
