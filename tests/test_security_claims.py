"""SECURITY.md promises nothing that no test shows: each of its lines names one that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.paths import REPOSITORY

ROOT = REPOSITORY
TEXT = (ROOT / "SECURITY.md").read_text()
PROMISES = [
    line for line in TEXT.splitlines() if line.startswith("| ") and not line.startswith("| At most")
]


def functions_of(file: Path) -> set[str]:
    if file.suffix == ".go":
        return set(re.findall(r"^func (Test\w+)\(", file.read_text(), re.MULTILINE))
    return {
        node.name
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize("line", PROMISES, ids=[line[2:50] for line in PROMISES])
def test_a_promise_names_a_test_that_exists(line: str) -> None:
    named = re.findall(r"`([\w/.]+)::(\w+)`", line)
    assert named, f"no test is named in: {line}"
    for path, function in named:
        file = ROOT / path if path.endswith(".go") else ROOT / "tests" / path
        assert function in functions_of(file), f"{path} has no {function}"


def test_there_are_promises_for_everybody_who_may_attack() -> None:
    headings = re.findall(r"^### (.+)$", TEXT, re.MULTILINE)
    assert len(headings) >= 8
    assert len(PROMISES) > 40
