"""One server for several processes: started by the first, stopped when the last has let go."""

from __future__ import annotations

import multiprocessing
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import pytest

from agent.child_process import ChildProcess, ChildProgram
from tests.shared_servers import SharedServers

pytestmark = pytest.mark.usefixtures("own_servers")

_SPAWN = multiprocessing.get_context("spawn")


class Address(msgspec.Struct, frozen=True):
    pid: int
    folder: Path


@asynccontextmanager
async def sleeper(folder: Path) -> AsyncIterator[Address]:
    program = ChildProgram(name="sleeper", command=("sleep", "600"), folder=folder)

    async def ready() -> bool:
        return True

    async with ChildProcess(program, ready) as child:
        assert child.pid is not None
        yield Address(child.pid, folder)


def use_and_wait(folder: Path, end: Connection) -> None:
    """One process of several: uses the server until it is told to close."""
    servers = SharedServers(folder=folder)
    end.send(servers.use("sleeper", Address, sleeper))
    end.recv()
    servers.close()
    end.send("closed")


class Peer:
    def __init__(self, folder: Path) -> None:
        self._end, theirs = _SPAWN.Pipe()
        self.process = _SPAWN.Process(target=use_and_wait, args=(folder, theirs))
        self.process.start()
        self.address: Address = self._end.recv()

    def begin_to_close(self) -> None:
        self._end.send("close")

    @property
    def has_closed(self) -> bool:
        return self._end.poll(0.2)

    def until_closed(self) -> None:
        assert self._end.recv() == "closed"
        self.process.join()


def runs(address: Address) -> bool:
    return Path(f"/proc/{address.pid}").exists()


def test_the_starter_stops_the_server_when_nobody_uses_it(tmp_path: Path) -> None:
    first, second = Peer(tmp_path), Peer(tmp_path)
    assert first.address == second.address
    assert first.address.folder == tmp_path / "sleeper"
    first.begin_to_close()
    assert not first.has_closed
    assert runs(second.address)
    second.begin_to_close()
    second.until_closed()
    first.until_closed()
    assert not runs(first.address)


def test_a_server_whose_starter_was_killed_is_started_anew(tmp_path: Path) -> None:
    first = Peer(tmp_path)
    first.process.kill()
    first.process.join()
    second = Peer(tmp_path)
    assert second.address.pid != first.address.pid
    assert runs(second.address)
    second.begin_to_close()
    second.until_closed()


def test_two_that_use_what_the_other_started_both_end(tmp_path: Path) -> None:
    one, two = SharedServers(folder=tmp_path), SharedServers(folder=tmp_path)
    one.use("a", Address, sleeper)
    two.use("b", Address, sleeper)
    one.use("b", Address, sleeper)
    two.use("a", Address, sleeper)
    two.release()
    one.close()
    two.close()
