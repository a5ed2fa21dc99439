"""A stage of the set-up tells what is done and how long it has left; it needs nothing installed."""

import os
import pty
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from playground.stage import SetupStage, counted, progress_of
from tests.paths import REPOSITORY

ROOT = REPOSITORY
COUNTING = "import time\nfor i in range(4): print('got', i, flush=True); time.sleep(0.4)"
BARE = (sys.executable, "-S", "-m", "playground.stage")
"""Without the packages that are installed here."""


def stage(*, seconds: float = 60, of: int = 0) -> SetupStage:
    return SetupStage(
        title="x", seconds=seconds, command=("true",), folder=Path(), count="got", of=of
    )


@pytest.mark.parametrize(
    ("setup", "spent", "counted", "part", "left"),
    [
        (stage(), 0, 0, 0, 60),
        (stage(), 30, 0, 0.5, 30),
        (stage(), 300, 0, 0.98, 0),
        (stage(of=100), 20, 50, 0.5, 20),
        (stage(of=100), 5, 2, 0.02, 55),
        (stage(of=10), 5, 12, 0.98, 0.1),
    ],
    ids=["begun", "half the time", "overdue", "half counted", "hardly begun", "more than known"],
)
def test_what_is_left_follows_from_what_is_known(
    setup: SetupStage, spent: float, counted: int, part: float, left: float
) -> None:
    now = progress_of(setup, spent, counted)
    assert (now.part, round(now.left, 1)) == (part, left)


def test_a_log_gets_a_line_at_the_beginning_and_one_at_the_end() -> None:
    ran = subprocess.run(
        [*BARE, "fetching", "60", "--", sys.executable, "-c", "print('much')"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    first, last = ran.stderr.decode().splitlines()
    assert first == "fetching, about 60 s left"
    assert last.startswith("fetching: done in ")
    assert ran.stdout == b""


def test_a_failure_shows_what_the_command_said_and_has_its_exit_code() -> None:
    failing = "import sys; print('no such package'); sys.exit(7)"
    ran = subprocess.run(
        [*BARE, "fetching", "1", "--", sys.executable, "-c", failing],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 7
    assert b"failed with exit code 7\nno such package" in ran.stderr


def test_a_terminal_sees_a_bar_that_counts() -> None:
    command = ["fetching", "60", "--count", "got", "--of", "4", "--", sys.executable, "-c"]
    ours, theirs = pty.openpty()
    with subprocess.Popen([*BARE, *command, COUNTING], cwd=ROOT, stderr=theirs) as process:
        os.close(theirs)
        seen = _all_of(ours)
    assert process.returncode == 0
    assert "━" in seen
    assert "fetching (50%), " in seen
    assert "left" in seen
    assert "fetching: done in " in seen


def test_what_is_made_counts_as_what_is_said() -> None:
    setup = SetupStage(
        title="x", seconds=9, command=(), folder=ROOT, count="got", made="playground/sta*.py", of=4
    )
    with tempfile.TemporaryFile() as output:
        output.write(b"got one\nnothing\n  got two\n")
        output.flush()
        assert counted(setup, output) == 3


def _all_of(file: int) -> str:
    """Until the other side has gone, which Linux tells as an error."""
    found = b""
    try:
        while block := os.read(file, 4096):
            found += block
    except OSError:
        return found.decode()
    finally:
        os.close(file)
    return found.decode()


_TESTED = ("test", "lint", "test-sandbox", "test-dashboard")
"""What `make test` does, and what it does beside."""


@pytest.mark.parametrize(
    "step",
    ["pip install", "npm ci", "npm run build", "npm run --silent test", "go test ./", "bin/mypy"],
)
def test_no_long_step_of_make_is_silent(step: str) -> None:
    command = ["make", "--dry-run", "--always-make", "NPM=npm", "GO=go", *_TESTED]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line for line in output.replace("\\\n", " ").splitlines() if step in line]
    assert lines
    assert all("playground.stage" in line for line in lines)
