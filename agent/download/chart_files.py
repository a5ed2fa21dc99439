"""The files of a packaged chart: one folder of the chart's name, which becomes the root."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from agent.download.archive import ArchivedFile, ArchiveError, archived_files

_CHART_FILE = "Chart.yaml"


def chart_files(archive: Path, chart: str) -> Iterator[ArchivedFile]:
    """Read a packaged chart; an empty name stands for any. Blocking. Raises ArchiveError.

    Of a name with a path, as registries have them, the last part is the folder.
    """
    name, found = chart.rpartition("/")[2], False
    for file in archived_files(archive):
        folder, _, path = file.path.partition("/")
        name = name or folder
        if folder != name or not path:
            raise ArchiveError(f"holds {file.path[:100]!r} beside the folder {name!r} of the chart")
        found = found or path == _CHART_FILE
        yield replace(file, path=path)
    if not found:
        raise ArchiveError(f"holds no {name}/{_CHART_FILE}: it is no chart of this name")
