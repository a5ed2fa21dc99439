"""The house's own rules, where a linter does not know them: they hold for every file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = ("bus", "handlers", "agent", "service", "cli", "playground")
MODULES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))
IDS = [str(path.relative_to(ROOT)) for path in MODULES]

ONLY_HERE = {
    "nats": "bus/jetstream/",
    "pygit2": "agent/git/ playground/ benchmarks/",
    "kubernetes_asyncio": "agent/kube/config.py",
}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    tree = tree_of(path)
    assert not tree.body or ast.get_docstring(tree), f"{path} has no docstring"


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_only_the_dispatcher_catches_everything(path: Path) -> None:
    broad = [
        node.lineno
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) == "Exception")
    ]
    assert not broad or path == ROOT / "bus" / "dispatch.py"


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_every_task_has_an_owner(path: Path) -> None:
    calls = {
        ast.unparse(node.func) for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)
    }
    assert not calls & {"asyncio.create_task", "asyncio.ensure_future", "asyncio.gather"}


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_a_foreign_library_has_one_home(path: Path) -> None:
    imported = {name.partition(".")[0] for name in _imports(tree_of(path))}
    name = str(path.relative_to(ROOT))
    for library in imported & ONLY_HERE.keys():
        assert any(name.startswith(home) for home in ONLY_HERE[library].split()), library


@pytest.mark.parametrize(
    "path", [p for p in MODULES if p.is_relative_to(ROOT / "handlers")], ids=str
)
def test_rooms_are_async_only_at_the_handler_and_the_ports(path: Path) -> None:
    found = any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(tree_of(path)))
    assert not found or path.name == "handler.py" or path.parent.name == "ports"


def test_lock_files_name_no_registry() -> None:
    for lock in (
        *ROOT.glob("*.lock"),
        *ROOT.glob("sandbox/go.sum"),
        *ROOT.glob("playground/**/go.sum"),
    ):
        assert not re.search(r"https?://", lock.read_text()), lock.name


def _imports(tree: ast.Module) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
    return names
