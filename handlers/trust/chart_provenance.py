"""ChartProvenance is what the signed text of a chart's `.prov` file says. Pure.

Helm writes the metadata of the chart, a line of three dots, and the digests of the files:

    name: web
    version: 1.0.0
    ...
    files:
      web-1.0.0.tgz: sha256:0a1b...
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

_DOTS = "..."
_FIELD = re.compile(r"""(name|version): (["']?)([^"'#\s]+)\2""")
_FILE = re.compile(r"\s+[^\s:]+: [\"']?(sha256:[0-9a-f]{64})[\"']?")
_MOST_LINES = 20_000


class ChartProvenance(msgspec.Struct, frozen=True):
    name: str
    version: str
    digests: tuple[str, ...]
    """Of archives, as `sha256:<hex>`."""


def chart_provenance(lines: Sequence[str]) -> ChartProvenance:
    """Read the signed text; raises ValueError."""
    if len(lines) > _MOST_LINES or list(lines).count(_DOTS) != 1:
        raise ValueError("it is not the metadata of a chart, a line `...` and the files")
    dots = list(lines).index(_DOTS)
    fields = [found for line in lines[:dots] if (found := _FIELD.fullmatch(line))]
    files = lines[dots + 1 :]
    digests = tuple(found[1] for line in files[1:] if (found := _FILE.fullmatch(line)))
    if sorted(one[1] for one in fields) != ["name", "version"]:
        raise ValueError("it does not say name and version of the chart once")
    if not files or files[0] != "files:" or not digests:
        raise ValueError("it names no digest of a file")
    values = {one[1]: one[3] for one in fields}
    return ChartProvenance(values["name"], values["version"], digests)
