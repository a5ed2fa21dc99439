"""`gitops version`: which version of the program this is."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

_DISTRIBUTION = "gitops-house"


def show_version() -> int:
    """Print one line, as `gitops --version` does."""
    try:
        own = version(_DISTRIBUTION)
    except PackageNotFoundError:
        own = "unknown (not installed as a package)"
    sys.stdout.write(f"gitops {own}\n")
    return 0
