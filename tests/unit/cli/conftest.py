"""The command line as a person uses it: a process with arguments, two outputs and an exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.paths import REPOSITORY

if TYPE_CHECKING:
    from tests.unit.cli.service_fixture import ServiceFixture

ROOT = REPOSITORY


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def answers(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def good(self) -> list[dict[str, Any]]:
        """The answers that are no refusal."""
        return [answer for answer in self.answers if "error" not in answer]


Gitops = Callable[..., Ran]


@pytest.fixture
def gitops(tmp_path: Path) -> Gitops:
    """Runs `gitops ARGUMENTS` in an empty folder, without settings and logins of this machine."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITOPS_")}

    def run(*arguments: object, stdin: bytes = b"", **variables: object) -> Ran:
        command = [sys.executable, "-c", "from cli.main import main; main()"]
        ended = subprocess.run(
            [*command, *map(str, arguments)],
            cwd=tmp_path,
            env={
                **clean,
                "PYTHONPATH": str(ROOT),
                "COLUMNS": "200",
                "XDG_CONFIG_HOME": str(tmp_path),
            }
            | {name: str(value) for name, value in variables.items()},
            input=stdin,
            capture_output=True,
            timeout=180,
            check=False,
        )
        return Ran(ended.returncode, ended.stdout.decode(), ended.stderr.decode())

    return run


@pytest.fixture
def with_sandbox(gitops: Gitops, sandbox_binary: Path) -> Gitops:
    def run(*arguments: object, stdin: bytes = b"") -> Ran:
        return gitops(*arguments, stdin=stdin, GITOPS_SANDBOX_BINARY=sandbox_binary)

    return run


@pytest.fixture
async def service(
    database_url: str, gitops: Gitops, tmp_path: Path
) -> AsyncIterator[ServiceFixture]:
    """A service on a database of its own, and `gitops` beside it."""
    from tests.unit.cli.service_fixture import open_service_fixture  # noqa: PLC0415  the service, for these only

    async with open_service_fixture(database_url, gitops, tmp_path) as opened:
        yield opened
