"""ChildProcess runs a server as a child process that ends, at the latest, with this process.

It supervises the embedded NATS of the agent and every server of the playground. A child has its own
folder and log, is a leader of its own session (Ctrl-C in a terminal reaches us, and we stop our
children in order), is awaited until it answers, and is stopped with a signal, then killed, then
reaped.

Where Linux allows it, the kernel kills a child when the *thread* that started it dies, so that
nothing is left after `kill -9` either. Therefore start children from the event loop's thread,
never from a pool's. A child belongs to no event loop: one loop may start it and another stop it.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

Fact = Callable[[], Awaitable[bool]]

_TAIL_BYTES = 4096
_LOOK_EVERY = 0.02
_INHERITED = ("PATH", "HOME", "TMPDIR", "LANG")
# Become the user, ask for SIGKILL when the parent dies (a change of user would take that back),
# leave if it died before we asked, become the program. prctl's first option is PR_SET_PDEATHSIG.
_DIE_WITH_PARENT = """
import ctypes, os, sys
parent, user, *command = sys.argv[1:]
if user:
    import pwd
    entry = pwd.getpwnam(user)
    os.setgroups([])
    os.setgid(entry.pw_gid)
    os.setuid(entry.pw_uid)
ctypes.CDLL(None).prctl(1, 9, 0, 0, 0)
os.getppid() == int(parent) or os._exit(1)
os.execvp(command[0], command)
"""


class ChildNotReadyError(RuntimeError):
    """A child ended or did not answer in time. The message quotes the end of its log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildProgram:
    """The command of a child, its folder, and how to stop it."""

    name: str
    command: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    stop_grace: float = 5.0
    ready_within: float = 120.0

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name}.log"


class ChildProcess:
    """One program to start, kill and start again; `async with` starts and stops it."""

    def __init__(self, program: ChildProgram, ready: Fact) -> None:
        self.program = program
        self._ready = ready
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    async def start(self) -> None:
        """Start the child and wait until it answers; after ChildNotReadyError none is running."""
        if self.running:
            return
        self._process = _spawn(self.program)
        try:
            await self._until_ready()
        except BaseException:
            self.kill()
            raise

    async def stop(self) -> None:
        """Signal the child to end, wait for its grace, then kill; when cancelled, kill at once."""
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.send_signal(self.program.stop_signal)
        try:
            async with asyncio.timeout(self.program.stop_grace):
                await until(partial(_ended, process))
        except TimeoutError:
            pass  # killed below
        finally:
            self.kill()

    def kill(self) -> None:
        """Kill the child with SIGKILL and reap it, as a crash would."""
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()

    async def _until_ready(self) -> None:
        deadline = time.monotonic() + self.program.ready_within
        while not await self._ready():
            self._check_runs()
            if time.monotonic() > deadline:
                raise _not_ready(self.program, f"no answer in {self.program.ready_within:.0f} s")
            await asyncio.sleep(_LOOK_EVERY)
        self._check_runs()  # otherwise another process answers on its port

    def _check_runs(self) -> None:
        code = self._process.poll() if self._process is not None else 0
        if code is not None:
            raise _not_ready(self.program, f"ended with code {code}")


async def until(fact: Fact) -> None:
    """Poll until `fact` holds: a process and a foreign server have no event to await."""
    while not await fact():  # noqa: ASYNC110  there is none
        await asyncio.sleep(_LOOK_EVERY)


def _spawn(program: ChildProgram) -> subprocess.Popen[bytes]:
    program.folder.mkdir(parents=True, exist_ok=True)
    with program.log.open("ab") as log:
        return subprocess.Popen(
            _dying_with_us(program),
            cwd=program.folder,
            env={**_inherited(), **program.environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _inherited() -> dict[str, str]:
    """Pass on few variables: this process's environment may hold secrets."""
    return {name: os.environ[name] for name in _INHERITED if name in os.environ}


def _dying_with_us(program: ChildProgram) -> tuple[str, ...]:
    """Wrap the command in a little Python instead of `preexec_fn`, which may hang with threads."""
    if sys.platform != "linux":
        return program.command
    wrapper = (sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT)
    return (*wrapper, str(os.getpid()), program.user or "", *program.command)


async def _ended(process: subprocess.Popen[bytes]) -> bool:
    return process.poll() is not None


def _not_ready(program: ChildProgram, what: str) -> ChildNotReadyError:
    return ChildNotReadyError(
        f"{program.name}: {what}; its log {program.log} ends with:\n{_tail(program.log)}"
    )


def _tail(log: Path) -> str:
    return log.read_bytes()[-_TAIL_BYTES:].decode(errors="replace").strip() or "(nothing)"
