"""The documented layouts, deploy/layouts, with the names of a test in place of the documented ones.

A test of a layout uses the very files that the page shows; nothing else of them changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from tests.paths import REPOSITORY
from tests.unit.deploy.chart_values import Object

_FOLDER = REPOSITORY / "deploy/layouts"


def layout_values(file: str, **names: str) -> dict[str, Any]:
    """Read values of the chart."""
    found: dict[str, Any] = yaml.safe_load(_text(file, names))
    return found


def layout_objects(file: str, names: Mapping[str, str]) -> list[Object]:
    return list(yaml.safe_load_all(_text(file, names)))


def layout_environment(file: str) -> dict[str, str]:
    lines = (line for line in _text(file, {}).splitlines() if line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def _text(file: str, names: Mapping[str, str]) -> str:
    text = (_FOLDER / file).read_text()
    if not names:
        return text
    words = "|".join(re.escape(word) for word in sorted(names, key=len, reverse=True))
    found, count = re.subn(rf"(?<![\w.-])({words})(?![\w.-])", lambda it: names[it[1]], text)
    assert count, f"{file} has none of {sorted(names)}"
    return found
