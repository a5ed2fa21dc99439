"""One stage of the set-up, with what is being done and how long it has left.

    python -m playground.stage "installing packages" 60 --count "Collecting " --of 112 -- pip ...

A bar on a terminal, plain lines in a log. What the command says is kept and shown only if it fails.
Nothing but the standard library: this runs before anything is installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_LOOK_EVERY = 0.25
_REPORT_SECONDS = 15.0
_WIDTH, _COLUMNS = 24, 80
_OUTPUT_BYTES = 20_000
_ALMOST = 0.98
_MEANINGFUL_PART = 0.1
"""From this part on what was counted tells more than what was expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupStage:
    """`seconds`: what it takes on two cores with an empty cache."""

    title: str
    seconds: float
    command: Sequence[str]
    folder: Path
    count: str = ""
    """Begins the lines of the command's output that are counted."""
    made: str = ""
    """A pattern of paths that come one by one; they are counted too."""
    of: int = 0
    """As many are counted in the end, of both kinds together."""


@dataclass(frozen=True, slots=True)
class StageProgress:
    part: float
    left: float
    counted: str


def progress_of(stage: SetupStage, spent: float, count: int) -> StageProgress:
    """Where a stage is; it is never done before its command has ended."""
    if not stage.of:
        part = min(spent / stage.seconds, _ALMOST)
        return StageProgress(part, max(0.0, stage.seconds - spent), "")
    part = min(count / stage.of, _ALMOST)
    left = spent * (1 - part) / part if part > _MEANINGFUL_PART else stage.seconds - spent
    return StageProgress(part, max(0.0, left), f" ({part:.0%})")


def run(stage: SetupStage) -> int:
    """The command's exit code."""
    screen = _Screen(terminal=sys.stderr.isatty())
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(stage.command, cwd=stage.folder, stdout=output, stderr=output)
        try:
            while process.poll() is None:
                spent = time.monotonic() - began
                screen.show(stage, progress_of(stage, spent, counted(stage, output)))
                time.sleep(_LOOK_EVERY)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()
        screen.end(stage, time.monotonic() - began, process.returncode)
        if process.returncode != 0:
            sys.stderr.write(_read(output)[-_OUTPUT_BYTES:].decode(errors="replace"))
    return process.returncode


@dataclass(slots=True, kw_only=True)
class _Screen:
    terminal: bool
    _reported_at: float = -_REPORT_SECONDS

    def show(self, stage: SetupStage, now: StageProgress) -> None:
        matches = f"{stage.title}{now.counted}, {_left(now.left)}"
        if self.terminal:
            done = round(now.part * _WIDTH)
            bar = "━" * done + "·" * (_WIDTH - done)
            self._write(f"\r\x1b[K{bar} {matches}"[: _columns() + 4])
        elif time.monotonic() - self._reported_at >= _REPORT_SECONDS:
            self._reported_at = time.monotonic()
            self._write(f"{matches}\n")

    def end(self, stage: SetupStage, spent: float, code: int) -> None:
        how = f"done in {spent:.0f} s" if code == 0 else f"failed with exit code {code}"
        self._write("\r\x1b[K" * self.terminal + f"{stage.title}: {how}\n")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def counted(stage: SetupStage, output: BinaryIO) -> int:
    if not stage.of:
        return 0
    lines = _read(output).splitlines() if stage.count else ()
    matches = sum(line.lstrip().startswith(stage.count.encode()) for line in lines)
    return matches + (sum(1 for _ in stage.folder.glob(stage.made)) if stage.made else 0)


def _read(output: BinaryIO) -> bytes:
    """What was said so far; the command goes on writing at its own place."""
    return os.pread(output.fileno(), os.fstat(output.fileno()).st_size, 0)


def _left(seconds: float) -> str:
    if seconds <= 0:
        return "longer than expected"
    shown = f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(1.0, seconds):.0f} s"
    return f"about {shown} left"


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or _COLUMNS
    except OSError:
        return _COLUMNS


def _parsed() -> SetupStage:
    parser = argparse.ArgumentParser(prog="playground.stage", description=__doc__)
    parser.add_argument("title")
    parser.add_argument("seconds", type=float)
    parser.add_argument("--in", dest="folder", type=Path, default=Path())
    parser.add_argument("--count", default="")
    parser.add_argument("--made", default="")
    parser.add_argument("--of", type=int, default=0)
    parser.add_argument("command", nargs="+")
    return SetupStage(**vars(parser.parse_args()))


if __name__ == "__main__":
    try:
        sys.exit(run(_parsed()))
    except KeyboardInterrupt:
        sys.exit(130)
