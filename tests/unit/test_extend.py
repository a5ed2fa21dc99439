"""Each worked example in docs/extend is a patch that applies, imports and passes its own tests.

An example is `NAME.patch` beside `NAME.md`. The patch is applied to a copy of the tree; child
processes import the modules that it touches and run the test files that it brings. A new example
needs no change here.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from operator import attrgetter
from pathlib import Path

import pytest

from tests.paths import REPOSITORY

EXAMPLES = sorted((REPOSITORY / "docs" / "extend").glob("*.patch"))
_NAME = attrgetter("stem")
each_example = pytest.mark.parametrize("patch", EXAMPLES, ids=_NAME)
_TOUCHED = re.compile(r"^\+\+\+ b/(\S+)$", re.MULTILINE)
_SECONDS = 600
_IMPORT_EACH = """
import importlib, sys
for name in sys.argv[1:]:
    print(importlib.import_module(name).__file__)
"""


def touched(patch: Path) -> tuple[str, ...]:
    """The files that the patch adds or changes."""
    return tuple(_TOUCHED.findall(patch.read_text()))


def on_servers(patch: Path) -> bool:
    """Whether the tests that the patch brings start servers: those of unit/ start none."""
    return any(is_test(file) and not file.startswith("tests/unit/") for file in touched(patch))


def is_test(file: str) -> bool:
    return Path(file).name.startswith("test_") and file.endswith(".py")


def module_name(file: str) -> str:
    return file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def tracked_files() -> Iterator[str]:
    command = ["git", "ls-files", "-z"]
    listed = subprocess.run(command, check=True, cwd=REPOSITORY, capture_output=True)
    for name in listed.stdout.decode().split("\0"):
        if name and (REPOSITORY / name).is_file():
            yield name


def run(tree: Path, command: Sequence[str]) -> str:
    """Run a command in the copy, which stands first on the path; return what it printed."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    env |= {"PYTHONPATH": str(tree), "GIT_CEILING_DIRECTORIES": str(tree.parent)}
    ran = subprocess.run(
        command,
        check=False,
        cwd=tree,
        env=env,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
    )
    assert ran.returncode == 0, f"{' '.join(command)}\n{ran.stdout}\n{ran.stderr}"
    return ran.stdout


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree as it is, without its history."""
    tree = tmp_path_factory.mktemp("exported") / "tree"
    for name in tracked_files():
        target = tree / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(REPOSITORY / name, target, follow_symlinks=True)
    return tree


@pytest.fixture
def patched(patch: Path, exported: Path) -> Iterator[Path]:
    """The copy with the patch applied; the patch is taken back at the end."""
    run(exported, ["git", "apply", "--whitespace=error", str(patch)])
    yield exported
    run(exported, ["git", "apply", "--reverse", str(patch)])


def test_there_are_worked_examples() -> None:
    assert EXAMPLES


@each_example
def test_the_page_of_an_example_names_every_file_that_it_touches(patch: Path) -> None:
    page = patch.with_suffix(".md").read_text()

    assert [file for file in touched(patch) if f"`{file}`" not in page] == []


@pytest.mark.parametrize("patch", [it for it in EXAMPLES if not on_servers(it)], ids=_NAME)
@pytest.mark.timeout(_SECONDS * 3)
def test_an_example_imports_and_passes_its_own_tests(patch: Path, patched: Path) -> None:
    check_example(patch, patched)


@pytest.mark.parametrize("patch", [it for it in EXAMPLES if on_servers(it)], ids=_NAME)
@pytest.mark.timeout(_SECONDS * 3)
@pytest.mark.usefixtures("own_servers")
def test_an_example_with_servers_imports_and_passes_its_own_tests(
    patch: Path, patched: Path
) -> None:
    check_example(patch, patched)


def check_example(patch: Path, patched: Path) -> None:
    code = [file for file in touched(patch) if file.endswith(".py")]
    modules = [module_name(file) for file in code if not is_test(file)]
    tests = [file for file in code if is_test(file)]
    assert modules
    assert tests

    loaded = run(patched, [sys.executable, "-c", _IMPORT_EACH, *modules]).splitlines()
    assert len(loaded) == len(modules)
    assert all(Path(file).is_relative_to(patched) for file in loaded)
    run(patched, [sys.executable, "-m", "ruff", "check", "--no-cache", *code])
    run(patched, [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests])
