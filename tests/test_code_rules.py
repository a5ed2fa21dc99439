"""Rules of the whole tree that neither ruff nor import-linter can check.

Their own rules stand in pyproject.toml: docstrings (D), broad excepts (BLE001), tasks without an
owner (TID251), and which package may import which, foreign libraries included (importlinter).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests import name_rules
from tests.paths import REPOSITORY as ROOT

PACKAGES = ("bus", "handlers", "agent", "service", "cli", "playground")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
NAMED = {
    ".py": (*PACKAGES, "benchmarks", "deploy", "docs", "tests"),
    ".go": ("playground", "sandbox", "tests"),
    ".ts": ("web/src", "web/fixtures", "web/tests"),
    ".vue": ("web/src",),
}
_OF_TIMES = {"year", "month", "day", "hour", "minute", "second", "microsecond", "tzinfo"}
_PATIENCE = 120  # seconds
_REFUSED = {".py": name_rules.refused_in_python}
_UNCHANGEABLE = ("service/store/migrations/", "tests/unit/bus/agent_0_1.py")
"""Migrations that ran, and the link as its first version had it."""


def test_only_the_dispatcher_catches_everything() -> None:
    """A comment that switches the linter off is no way around its rule."""
    broad = [str(path.relative_to(ROOT)) for path in MODULES if "BLE001" in path.read_text()]
    assert broad == ["bus/dispatch.py"]


def test_a_package_with_code_says_what_it_is_for() -> None:
    """Ruff's D104 would also ask it of empty packages."""
    silent = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if path.name == "__init__.py"
        and path.read_text().strip()
        and not _docstring(path.read_text())
    ]
    assert silent == []


def test_rows_of_queries_are_decoded_into_structs() -> None:
    """A row is read by a string only where the names of its columns are data."""
    readers = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "service").rglob("*.py")
        if ".mappings()" in path.read_text()
    ]
    assert sorted(readers) == [
        "service/http/pages.py",
        "service/store/protected_columns.py",
        "service/store/rows.py",
    ]


def test_replace_names_a_field_of_some_class() -> None:
    """The type checker does not look at the keywords of `replace`: a renamed field breaks it."""
    trees = {path: ast.parse(path.read_text()) for path in MODULES}
    fields = {name for tree in trees.values() for name in _fields(tree)}
    unknown = [
        f"{path.relative_to(ROOT)}:{call.lineno} {keyword.arg}"
        for path, tree in trees.items()
        for call in _calls_of_replace(tree)
        for keyword in call.keywords
        if keyword.arg is not None and keyword.arg not in fields | _OF_TIMES
    ]
    assert unknown == []


def test_a_public_class_name_has_one_meaning() -> None:
    """What is generated from the API for its clients goes by the API's names."""
    defined: dict[str, list[str]] = {}
    for path in (it for folder in NAMED[".py"] for it in (ROOT / folder).rglob("*.py")):
        if path.name == "service_types.py":
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in defined.items() if len(files) > 1} == {}


def test_lock_files_name_no_registry() -> None:
    locks = (
        *ROOT.glob("*.lock"),
        *ROOT.glob("sandbox/worker/go.sum"),
        *ROOT.glob("playground/**/go.sum"),
    )
    named = [lock.name for lock in locks if re.search(r"https?://", lock.read_text())]
    assert locks
    assert named == []


@pytest.mark.parametrize("suffix", NAMED)
def test_names_are_words_of_the_field(suffix: str) -> None:
    """`docs/glossary.md` has the words; tests/name_rules.py has what they replaced."""
    read: Callable[[str], list[str]] = _REFUSED.get(suffix, name_rules.refused_in_script)
    refused = [
        f"{path}: {name}"
        for path in _named(suffix)
        for name in (
            *name_rules.refused_in_path(path.with_suffix("").parts),
            *read((ROOT / path).read_text()),
        )
    ]
    assert sorted(set(refused)) == []


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        ("class Told: ...", ["Told"]),
        ("class HeldTask: ...", ["HeldTask"]),
        ("def held(wanted: str) -> None: ...", []),
        ("self._said_at = 1", ["_said_at"]),
        ("from hypothesis import given\nsay(given)", []),
        ("def test_what_was_said_is_told() -> None: ...", []),
    ],
)
def test_a_name_counts_where_it_is_defined(source: str, refused: list[str]) -> None:
    assert name_rules.refused_in_python(source) == refused


def test_a_name_of_another_language_counts_without_its_grammar() -> None:
    script = "const said = 'world'; // room\nfunction count(told: number) {}\ntype HeldRow = {}"
    assert name_rules.refused_in_script(script) == ["HeldRow", "said", "told"]


def test_what_is_waited_for_has_as_long_as_a_busy_machine_needs() -> None:
    """The deadline of `eventually` ends a test that would hang; a shorter one measures."""
    hurried = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        if "eventually(" in (source := path.read_text())
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "eventually"
        and any(seconds < _PATIENCE for seconds in _numbers(node))
    ]
    assert hurried == []


def _numbers(call: ast.Call) -> Iterator[float]:
    for node in (*call.args, *(keyword.value for keyword in call.keywords)):
        if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
            yield node.value


def _named(suffix: str) -> list[Path]:
    return sorted(
        path
        for folder in NAMED[suffix]
        for path in (it.relative_to(ROOT) for it in (ROOT / folder).rglob(f"*{suffix}"))
        if not str(path).startswith(_UNCHANGEABLE)
    )


def _fields(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def _calls_of_replace(tree: ast.Module) -> Iterator[ast.Call]:
    """Calls of `replace`, by itself or of a module; a method of a text has no keywords."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            named = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            plain = node.func.id if isinstance(node.func, ast.Name) else ""
            if "replace" in (named, plain):
                yield node


def _docstring(source: str) -> str | None:
    return ast.get_docstring(ast.parse(source))
