"""The sandbox worker's program is named by the settings, or is `gitops-sandbox` on PATH."""

from __future__ import annotations

import shutil
from pathlib import Path

PROGRAM = "gitops-sandbox"


class SandboxMissingError(RuntimeError):
    """No worker, so nothing can be rendered."""


def sandbox_binary(configured: Path | None) -> Path:
    """Raises SandboxMissingError."""
    found = configured or shutil.which(PROGRAM)
    if found is None or not Path(found).is_file():
        looked = f"{configured} is not a file" if configured else f"there is no {PROGRAM} on PATH"
        raise SandboxMissingError(
            f"the sandbox worker was not found: {looked}; build it with `make parts` "
            "and set GITOPS_SANDBOX_BINARY to the program"
        )
    return Path(found)
