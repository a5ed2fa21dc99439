"""HealthCase is a line of the tables in `families/`: an object in a few words, and its health.

A table names kinds at the margin, and below them one case a line: the first letter of the status
(`none` for no health), then what the object has, in any order:

    cert-manager.io/Certificate
      P  Ready=False Issuing=True        conditions: Type=Status/Reason:Message@generation
      D  status.parents.0>Accepted=False a condition of another list
      H  status.phase:Running            a field; its value is YAML
      P  stale                           the status is about generation 1; `seen`: about 2
      P  -                               nothing at all

Every object has generation 2. `*.group/* real.group/Kind` names a row for many kinds by examples,
and a version behind the kind (`autoscaling/HorizontalPodAutoscaler v2`) goes before v1.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tests.paths import REPOSITORY

TABLES = sorted((REPOSITORY / "tests/unit/handlers/health/families").glob("*.txt"))
LETTERS = {
    "H": "Healthy",
    "P": "Progressing",
    "D": "Degraded",
    "S": "Suspended",
    "U": "Unknown",
    "M": "Missing",
    "none": None,
}
_STEP = re.compile(r"\[([^\]]+)\]|([^.\[\]]+)")
_CONDITION = re.compile(
    r"(?P<type>[^=]+)=(?P<status>\w+)(/(?P<reason>[\w-]+))?(:(?P<message>\w+))?"
)


class HealthCase(NamedTuple):
    """An object of one kind, and the health that it has to have."""

    row: str
    """The row of the table of rules that the case is about: `group/Kind`, or with `*`."""
    manifest: dict[str, Any]
    expected: str | None
    name: str


def all_cases() -> Iterator[HealthCase]:
    for table in TABLES:
        yield from cases_of(table)


def cases_of(table: Path) -> Iterator[HealthCase]:
    kinds: list[tuple[str, str, str]] = []
    for line in table.read_text().splitlines():
        if not line.startswith(" "):
            kinds = list(_kinds(line))
            continue
        letter, _, words = line.strip().partition(" ")
        for row, api_version, kind in kinds:
            manifest = _manifest(api_version, kind, shlex.split(words))
            name = f"{api_version} {kind} {words.strip()}"
            yield HealthCase(row, manifest, LETTERS[letter], name)


def _kinds(line: str) -> Iterator[tuple[str, str, str]]:
    group, _, names = line.partition("/")
    words = names.split()
    version = words.pop() if re.fullmatch(r"v\d\w*", words[-1]) else "v1"
    shared = f"{group}/*" if words[0] == "*" else ""
    for word in words[1:] if shared else words:
        own, _, kind = word.rpartition("/")
        api_version = f"{own or group}/{version}".lstrip("/")
        yield shared or f"{group}/{kind}", api_version, kind


def _manifest(api_version: str, kind: str, words: list[str]) -> dict[str, Any]:
    manifest: dict[str, Any] = {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": "x", "generation": 2},
    }
    for word in words:
        if word == "-":
            continue
        if word in ("seen", "stale"):
            _set(manifest, ["status", "observedGeneration"], 2 if word == "seen" else 1)
        elif word.startswith(("status", "spec", "metadata")) and ">" not in word:
            path, _, value = word.partition(":")
            _set(manifest, _steps(path), yaml.safe_load(value))
        else:
            path, _, written = word.rpartition(">")
            entries = _listed(manifest, [*_steps(path or "status"), "conditions"])
            entries.append(_condition(written))
    return manifest


def _steps(path: str) -> list[str]:
    return [dotted or plain for dotted, plain in _STEP.findall(path)]


def _condition(written: str) -> dict[str, Any]:
    written, _, generation = written.partition("@")
    found = _CONDITION.fullmatch(written)
    assert found is not None, written
    entry = {name: value for name, value in found.groupdict().items() if value}
    return entry | ({"observedGeneration": int(generation)} if generation else {})


def _listed(manifest: dict[str, Any], steps: list[str]) -> list[Any]:
    holder = _holder(manifest, steps)
    found: list[Any] = holder.setdefault(steps[-1], [])
    return found


def _set(manifest: dict[str, Any], steps: list[str], value: object) -> None:
    holder = _holder(manifest, steps)
    if isinstance(holder, list):
        holder.insert(int(steps[-1]), value)
    else:
        holder[steps[-1]] = value


def _holder(manifest: dict[str, Any], steps: list[str]) -> Any:
    """The mapping or list that holds the last step; a number makes a list of what holds it."""
    here: Any = manifest
    for step, following in pairwise(steps):
        empty: Any = [] if following.isdecimal() else {}
        if isinstance(here, list):
            if len(here) == int(step):
                here.append(empty)
            here = here[int(step)]
        else:
            here = here.setdefault(step, empty)
    return here
