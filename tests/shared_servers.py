"""Servers that the processes of one test run share: the first to need one starts it for all.

A file beside the server's folder says where the server is. Whoever uses the server holds a shared
lock until its process ends, so the one that started it knows when it may stop: its last step is to
wait for the exclusive lock. The kernel drops the locks of a process that died, and kills the
servers that it had started (agent/child_process.py).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from playground.background import BackgroundLoop

T = TypeVar("T")


class _Record(msgspec.Struct, frozen=True):
    """Where a server is, and the process that started it."""

    starter: int
    address: msgspec.Raw


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedServers:
    """This process's part in the shared servers; `folder` is the same for all processes."""

    folder: Path
    _used: ExitStack = field(default_factory=ExitStack)
    _started: ExitStack = field(default_factory=ExitStack)

    def use(
        self, name: str, kind: type[T], start: Callable[[Path], AbstractAsyncContextManager[T]]
    ) -> T:
        """Return the address of the server `name`; it stays up until `close`.

        `start` runs the server in a folder. Its address is a value that JSON can carry.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        record = self.folder / f"{name}.json"
        with _locked(self.folder / f"{name}.start", fcntl.LOCK_EX):
            known = _read(record)
            if known is None:
                self._start(name, record, start)
                known = _read(record)
            else:
                self._used.enter_context(_locked(self._users(name), fcntl.LOCK_SH))
        if known is None:
            raise RuntimeError(f"{record} does not say where {name} is: its starter has gone")
        return msgspec.json.decode(known.address, type=kind, dec_hook=_from_text)

    def close(self) -> None:
        """Let go of what others started, then stop what this process started, once nobody uses it.

        Waits for the other processes, which may still test: not for a fixture, whose time counts.
        """
        self.release()  # first: two processes may each have started what the other one uses
        self._started.close()

    def release(self) -> None:
        """Let go of what other processes started."""
        self._used.close()

    def _start(
        self, name: str, record: Path, start: Callable[[Path], AbstractAsyncContextManager[T]]
    ) -> None:
        loop = self._started.enter_context(BackgroundLoop(name))
        address = loop.enter(start(self.folder / name))
        raw = msgspec.Raw(msgspec.json.encode(address, enc_hook=str))
        record.write_bytes(msgspec.json.encode(_Record(os.getpid(), raw)))
        self._started.callback(self._wait_for_users, name, record)

    def _wait_for_users(self, name: str, record: Path) -> None:
        """Return when nobody uses the server, and nobody can find it any more."""
        while True:
            with _locked(self._users(name), fcntl.LOCK_EX):
                pass
            with _locked(self.folder / f"{name}.start", fcntl.LOCK_EX):
                try:
                    with _locked(self._users(name), fcntl.LOCK_EX | fcntl.LOCK_NB):
                        record.unlink()
                        return
                except BlockingIOError:
                    continue  # somebody came between the two locks

    def _users(self, name: str) -> Path:
        return self.folder / f"{name}.users"


@contextmanager
def _locked(file: Path, how: int) -> Iterator[None]:
    with file.open("a") as opened:
        fcntl.flock(opened, how)
        yield


def _read(record: Path) -> _Record | None:
    """None where nobody started the server, or its starter has died, and the server with it."""
    if not record.exists():
        return None
    known = msgspec.json.decode(record.read_bytes(), type=_Record)
    return known if Path(f"/proc/{known.starter}").exists() else None


def _from_text(kind: type, text: Any) -> Any:
    return kind(text)
