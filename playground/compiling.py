"""Go programs compiled into a cache folder, with a progress that says how long is left.

A build happens in a folder beside its place and is renamed at the end, under a lock, so that a
half-written program is never found and two processes do not build the same thing. Knows nothing
of what is built.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol

import msgspec

from playground.toolchain import find_go

_LOOK_EVERY = 0.25
_OUTPUT_BYTES = 4000


class BuildError(RuntimeError):
    """The Go compiler refused. The message ends with what it said."""


class BuildStep(msgspec.Struct, frozen=True, kw_only=True):
    """A program, the seconds it takes on two cores from nothing, and its package in a module."""

    program: str
    seconds: float
    module: Path
    package: str
    link_flags: str = "-s -w"


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """Programs that land together in one folder."""

    folder: Path
    steps: tuple[BuildStep, ...]


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run of builds is: what is being done, and expected seconds behind and in all."""

    activity: str
    step: int
    steps: int
    done: float
    total: float

    @property
    def left(self) -> float:
        return max(0.0, self.total - self.done)


Watcher = Callable[[Progress], None]


def run_builds(builds: Sequence[Build], watch: Watcher) -> None:
    """Build in order, telling the watcher several times a second.

    Blocking: from an event loop, run it in a thread.
    """
    gauge = Gauge([step for build in builds for step in build.steps], watch)
    for build in builds:
        build.folder.parent.mkdir(parents=True, exist_ok=True)
        with locked(build.folder, gauge):
            if build.folder.is_dir():
                gauge.skip(len(build.steps))
            else:
                _build(build, gauge)
    if builds:
        gauge.report("done")


class Timed(Protocol):
    """A step that knows how many seconds it takes on two cores from nothing."""

    @property
    def seconds(self) -> float: ...


class Gauge:
    """Turns steps that end into seconds that are left. A step never counts as done before it is."""

    def __init__(self, steps: Sequence[Timed], watch: Watcher) -> None:
        self._steps = steps
        self._watch = watch
        self._at = 0
        self._began = time.monotonic()

    def skip(self, steps: int = 1) -> None:
        self._at += steps
        self._began = time.monotonic()

    def next(self) -> None:
        self._at += 1
        self._began = time.monotonic()

    def report(self, activity: str) -> None:
        behind = sum(step.seconds for step in self._steps[: self._at])
        current = self._steps[self._at].seconds if self._at < len(self._steps) else 0.0
        spent = min(time.monotonic() - self._began, current * 0.98)
        self._watch(
            Progress(
                activity=activity,
                step=min(self._at + 1, len(self._steps)),
                steps=len(self._steps),
                done=behind + spent,
                total=sum(step.seconds for step in self._steps),
            )
        )


def _build(build: Build, gauge: Gauge) -> None:
    partial = Path(tempfile.mkdtemp(prefix="partial-", dir=build.folder.parent))
    try:
        gauge.report("looking for Go")
        go = find_go()
        for step in build.steps:
            _compile(go, step, partial / step.program, gauge)
            gauge.next()
        partial.chmod(0o755)
        partial.rename(build.folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _compile(go: str, step: BuildStep, target: Path, gauge: Gauge) -> None:
    flags = ("-trimpath", "-buildvcs=false", "-ldflags", step.link_flags, "-o", str(target))
    command = (go, "build", *flags, step.package)
    run_watched(command, step.module, gauge, f"building {step.program}", _environment())


def _environment() -> Mapping[str, str]:
    """Ours, with a compiler that collects its garbage seldom: a sixth less CPU for more memory."""
    return {"GOGC": "400", **os.environ}


def run_watched(
    command: Sequence[str],
    folder: Path,
    gauge: Gauge,
    activity: str,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a program in `folder` and tell the gauge meanwhile.

    Raises BuildError with the end of what it printed where it fails. `environment` replaces ours.
    """
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            list(command), cwd=folder, stdout=output, stderr=output, env=environment
        )
        try:
            while process.poll() is None:
                gauge.report(activity)
                time.sleep(_LOOK_EVERY)
        finally:
            _end(process)
        if process.returncode != 0:
            raise BuildError(f"{activity} failed:\n{_end_of(output)}")


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
        process.wait()


def _end_of(output: BinaryIO) -> str:
    output.seek(0)
    return output.read()[-_OUTPUT_BYTES:].decode(errors="replace").strip()


@contextmanager
def locked(folder: Path, gauge: Gauge) -> Iterator[None]:
    with folder.with_name(f"{folder.name}.lock").open("w") as lock:
        while not _taken(lock.fileno()):
            gauge.report("waiting for another process that builds the same")
            time.sleep(_LOOK_EVERY)
        yield


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
