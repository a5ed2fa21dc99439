"""Workers come and go; requests do not notice, or are told."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from agent.renderer.renderer import SandboxRenderer
from handlers.ports import TreeEntry
from sandbox.client import Sandbox, SandboxError, SandboxLimits
from tests.support import eventually
from tests.unit.agent.renderer.recipe_samples import directory, names
from tests.unit.agent.renderer.written_tree import WrittenTree

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x%d}\n"
RECIPE_WITH_QUESTIONS = directory(include="*.yaml")
"""A folder chosen from is read file by file, each asked for."""
FOREVER = {"script": "while true do end"}


def running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


class KillingTree(WrittenTree):
    """Kills every worker of the pool when the first file is read, so right inside a request."""

    pool: Sandbox
    kills = 1

    def read(self, oid: str) -> bytes:
        if self.kills:
            self.kills -= 1
            for pid in self.pool.pids:
                os.kill(pid, signal.SIGKILL)
        return super().read(oid)


async def test_ten_requests_at_once_survive_the_kill_of_a_worker(sandbox_binary: Path) -> None:
    trees = [WrittenTree({"app/x.yaml": CONFIG % number}) for number in range(9)]
    killing = KillingTree({"app/x.yaml": CONFIG % 9})
    async with Sandbox(sandbox_binary, SandboxLimits(workers=3)) as killing.pool:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(SandboxRenderer(killing.pool).render(RECIPE_WITH_QUESTIONS, tree))
                for tree in (killing, *trees)
            ]
        seen = sorted(name for task in tasks for name in names(task.result()))
    assert seen == sorted(f"ConfigMap/x{number}" for number in range(10))


async def test_a_worker_killed_twice_is_the_failure_of_its_request(sandbox_binary: Path) -> None:
    tree = KillingTree({"app/x.yaml": CONFIG % 1})
    tree.kills = 2
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as tree.pool:
        with pytest.raises(Exception, match="ended with -9") as caught:
            await SandboxRenderer(tree.pool).render(RECIPE_WITH_QUESTIONS, tree)
        assert getattr(caught.value, "reason", "") == "WorkerDied"
        assert names(await SandboxRenderer(tree.pool).render(RECIPE_WITH_QUESTIONS, tree)) == [
            "ConfigMap/x1"
        ]


async def test_a_cancelled_request_leaves_no_worker_behind(sandbox_binary: Path) -> None:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        (pid,) = sandbox.pids
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await sandbox.evaluate("lua", FOREVER)
        await eventually(lambda: not running(pid), what="the worker is gone")
        assert await sandbox.evaluate("jq", {"expression": "."}, b"1") == b"[1]"
        assert len(sandbox.pids) == 1


async def test_closing_the_pool_ends_every_worker(sandbox_binary: Path) -> None:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=2)) as sandbox:
        async with asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(sandbox.evaluate("jq", {"expression": "."}, b"1"))
        pids = sandbox.pids
    assert len(pids) == 2
    assert not any(running(pid) for pid in pids)


async def test_requests_wait_for_a_free_worker(sandbox_binary: Path) -> None:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(sandbox.evaluate("jq", {"expression": "."}, str(n).encode()))
                for n in range(20)
            ]
        assert [task.result() for task in tasks] == [f"[{n}]".encode() for n in range(20)]
        assert len(sandbox.pids) == 1


async def test_an_error_in_the_tree_ends_the_request_only(sandbox_binary: Path) -> None:
    class BrokenTree(WrittenTree):
        def entry(self, path: str) -> TreeEntry | None:
            raise LookupError(path)

    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as sandbox:
        with pytest.raises(LookupError):
            await SandboxRenderer(sandbox).render(directory(), BrokenTree({"app/x.yaml": ""}))
        tree = WrittenTree({"app/x.yaml": CONFIG % 1})
        assert names(await SandboxRenderer(sandbox).render(directory(), tree)) == ["ConfigMap/x1"]


async def test_a_program_that_is_no_worker_is_found_at_the_start() -> None:
    for program in ("/bin/true", "/nonexistent"):
        with pytest.raises(SandboxError) as caught:
            async with Sandbox(Path(program)):
                pass
        assert caught.value.reason == "WorkerDied"
