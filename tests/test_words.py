"""What people read is plain standard English: the phrases of `forbidden_words.txt` stand nowhere.

Read are the templates and texts of the dashboard, and every literal of the service's API and of the
demo that is no docstring. Comments and docstrings are for developers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.paths import REPOSITORY

ROOT = REPOSITORY
LISTED = Path(__file__).with_name("forbidden_words.txt")
FOLDERS = ("service/api", "service/auth", "service/access", "playground/demo", "cli")
_COMMENT = re.compile(r"/\*.*?\*/|<!--.*?-->|(?<![:\"'`])//[^\n]*|<style.*?</style>", re.DOTALL)
_BLANKS = re.compile(r"\s+")


def phrases() -> Iterator[tuple[str, str]]:
    for line in LISTED.read_text().splitlines():
        if line and not line.startswith("#"):
            old, _, new = line.partition(" => ")
            yield old.strip(), new.strip()


FORBIDDEN = {
    re.compile(rf"(?<!\w){re.escape(old)}(?!\w)", re.IGNORECASE): f"{old!r}: say {new!r}"
    for old, new in phrases()
}


def faults(text: str) -> list[str]:
    """What is forbidden in a text, however its lines are broken."""
    plain = _BLANKS.sub(" ", text)
    return [advice for pattern, advice in FORBIDDEN.items() if pattern.search(plain)]


def literals(source: str) -> Iterator[str]:
    """The texts of a module: its strings, those of f-strings among them, without docstrings."""
    tree = ast.parse(source)
    documented = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant) or id(node) in documented:
            continue
        if isinstance(node.value, str):
            yield node.value


MODULES = sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
PAGES = sorted(path for kind in ("vue", "ts") for path in (ROOT / "web/src").rglob(f"*.{kind}"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_of_a_program_has_a_forbidden_phrase(path: Path) -> None:
    assert [it for text in literals(path.read_text()) for it in faults(text)] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_text_of_the_dashboard_has_a_forbidden_phrase(path: Path) -> None:
    assert faults(_COMMENT.sub(" ", path.read_text())) == []


def test_a_forbidden_phrase_is_found_over_a_broken_line_and_in_any_case() -> None:
    assert faults("the role is\n   not so  in\ntime") == ["'not so in time': say 'timed out'"]
    assert faults("ASKED FOR, keep items") == ["'asked for': say 'requested'"]
    assert list(literals('"""you may not"""\nsaid = f"told of {1}"\n')) == ["told of "]
