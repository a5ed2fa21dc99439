"""Where this repository is on disk."""

from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
