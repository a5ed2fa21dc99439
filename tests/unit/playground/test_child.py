import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from agent.child_process import ChildNotReadyError, ChildProcess, ChildProgram, Fact
from agent.loopback import answers_tcp, free_port
from tests.support import eventually


def python(
    folder: Path, script: str, *, grace: float = 5, ready_within: float = 120
) -> ChildProgram:
    return ChildProgram(
        name="child",
        command=(sys.executable, "-u", "-c", script),
        folder=folder,
        stop_grace=grace,
        ready_within=ready_within,
    )


def prints(program: ChildProgram, word: str) -> Fact:
    async def ready() -> bool:
        return word in program.log.read_text()

    return ready


async def never() -> bool:
    return False


def gone(pid: int) -> bool:
    """No such process, or dead and only waiting for a parent that reaps."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def test_a_child_is_reaped_when_its_block_ends(tmp_path: Path) -> None:
    program = python(tmp_path, "import time; print('up'); time.sleep(60)")
    async with ChildProcess(program, prints(program, "up")) as child:
        pid = child.pid
        assert pid is not None
        assert child.running
    assert not exists(pid)


async def test_a_child_that_ignores_the_signal_is_killed_after_its_grace(tmp_path: Path) -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up'); time.sleep(60)"
    program = python(tmp_path, script, grace=0.2)
    async with ChildProcess(program, prints(program, "up")) as child:
        pid = child.pid
    assert not exists(pid)


async def test_a_child_that_ends_early_is_an_error_with_its_log(tmp_path: Path) -> None:
    child = ChildProcess(python(tmp_path, "print('no such disk'); raise SystemExit(3)"), never)
    with pytest.raises(ChildNotReadyError) as failed:
        await child.start()
    message = str(failed.value)
    assert "code 3" in message
    assert "no such disk" in message
    assert str(tmp_path / "child.log") in message


async def test_a_child_that_never_answers_is_an_error_and_is_gone(tmp_path: Path) -> None:
    child = ChildProcess(python(tmp_path, "import time; time.sleep(60)", ready_within=0.3), never)
    with pytest.raises(ChildNotReadyError, match="no answer"):
        await child.start()
    assert not child.running


async def test_a_cancelled_start_leaves_no_process(tmp_path: Path) -> None:
    program = python(tmp_path, "import time; print('up'); time.sleep(60)")
    child = ChildProcess(program, never)
    start = asyncio.create_task(child.start())
    await eventually(lambda: child.running and "up" in program.log.read_text())
    start.cancel()
    with pytest.raises(asyncio.CancelledError):
        await start
    assert not child.running


async def test_a_cancelled_stop_leaves_no_process(tmp_path: Path) -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up'); time.sleep(60)"
    program = python(tmp_path, script, grace=60)
    child = ChildProcess(program, prints(program, "up"))
    await child.start()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await child.stop()
    assert not child.running


async def test_a_stranger_that_answers_on_the_port_is_not_taken_for_the_child(
    tmp_path: Path,
) -> None:
    async with await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1") as other:
        ready = answers_tcp(other.sockets[0].getsockname()[1])
        program = python(tmp_path, "raise SystemExit('address already in use')")

        async def both() -> bool:
            return not child.running and await ready()

        child = ChildProcess(program, both)
        with pytest.raises(ChildNotReadyError, match="address already in use"):
            await child.start()


async def test_a_child_does_not_inherit_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUR_SECRET", "hunter2")
    program = python(tmp_path, "import os, time; print(sorted(os.environ)); time.sleep(60)")
    async with ChildProcess(program, prints(program, "PATH")):
        assert "OUR_SECRET" not in program.log.read_text()


async def test_a_killed_child_starts_again_in_its_folder(tmp_path: Path) -> None:
    port = free_port()
    command = (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port))
    program = ChildProgram(name="web", command=command, folder=tmp_path)
    async with ChildProcess(program, answers_tcp(port)) as child:
        first = child.pid
        child.kill()
        await child.start()
        assert child.running
        assert child.pid != first


PARENT = """
import asyncio, sys
from pathlib import Path
from playground.playground import PlaygroundPart as Part, open_playground

async def main():
    parts = {Part.NATS, Part.REDIS, Part.POSTGRES, Part.KUBERNETES}
    async with open_playground(parts, Path(sys.argv[1])):
        print("open", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.usefixtures("own_servers")
async def test_no_part_survives_a_parent_that_was_killed(tmp_path: Path) -> None:
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", PARENT, str(tmp_path), stdout=asyncio.subprocess.PIPE
    )
    assert parent.stdout is not None
    async with asyncio.timeout(90):
        assert await parent.stdout.readline() == b"open\n"
    children = children_of(parent.pid)
    assert len(children) >= 8
    os.kill(parent.pid, signal.SIGKILL)
    await parent.wait()
    await eventually(lambda: all(gone(pid) for pid in children))


def children_of(pid: int) -> list[int]:
    children = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in children for child in file.read_text().split()]


def exists(pid: int | None) -> bool:
    return Path(f"/proc/{pid}").exists()
