"""Golden files: the wording of each surface, in one file a surface; elsewhere tests assert codes.

A file has a line a case, `case: text`. `make golden` writes all of them anew; the difference is
read in review, as that of any other text.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parent
_VARIABLE = "GITOPS_WRITE_GOLDEN"


def assert_golden(surface: str, texts: Mapping[str, str]) -> None:
    """Compare `texts`, by their cases, with the file of the surface."""
    file = _FOLDER / f"{surface}.txt"
    made = "".join(f"{case}: {text}\n" for case, text in sorted(texts.items()))
    if os.environ.get(_VARIABLE):
        file.write_text(made, "utf-8")
    assert file.read_text("utf-8") == made, "read the difference, then run: make golden"
