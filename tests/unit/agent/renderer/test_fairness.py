"""Templates without end cost their own project time, and nobody else (finding H7)."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from agent.renderer.renderer import SandboxRenderer
from handlers.ports import RendererBusyError
from handlers.ports.rendering import Recipe, RenderError
from sandbox.client import Sandbox, SandboxLimits
from tests.support import eventually
from tests.unit.agent.renderer.recipe_samples import helm, names
from tests.unit.agent.renderer.written_tree import WrittenTree

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
ENDLESS = "{{ range $i := 9000000000000 }}{{ end }}"
PATIENT = SandboxLimits(workers=2, first_deadline=0.3, deadline=120)
"""A slow evaluation does not end while a test runs."""
HASTY = SandboxLimits(workers=1, first_deadline=0.2, deadline=0.6)


class CountingTree(WrittenTree):
    """Counts the files that were read."""

    reads = 0

    def read(self, oid: str) -> bytes:
        self.reads += 1
        return super().read(oid)


def chart(template: str) -> CountingTree:
    return CountingTree(
        {
            "chart/Chart.yaml": "apiVersion: v2\nname: x\nversion: 1.0.0\n",
            "chart/templates/x.yaml": template,
        }
    )


def named(name: str) -> Recipe:
    return helm(releaseName=name)


@asynccontextmanager
async def endless(
    sandbox: Sandbox, projects: tuple[str, ...]
) -> AsyncIterator[list[asyncio.Task[object]]]:
    """Renders without end, one for each entry; cancelled at the end."""

    async def render(number: int, project: str) -> None:
        try:
            await SandboxRenderer(sandbox).render(
                named(f"e{number}"), chart(ENDLESS), project=project
            )
        except RendererBusyError:
            return

    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(render(number, project)) for number, project in enumerate(projects)
        ]
        await asyncio.sleep(0)
        try:
            yield list(tasks)
        finally:
            for task in tasks:
                task.cancel()


@contextmanager
def is_busy() -> Iterator[None]:
    with pytest.raises(RendererBusyError, match="tried again by itself") as caught:
        yield
    assert caught.value.after > 0


@pytest.mark.parametrize(
    "projects",
    [("a", "a", "a"), ("a", "b", "c"), ("a",) * 16, ("a", "b") * 8],
    ids=["one-project", "three-projects", "many", "many-of-two"],
)
async def test_endless_templates_do_not_hold_up_another_project(
    sandbox_binary: Path, projects: tuple[str, ...]
) -> None:
    async with Sandbox(sandbox_binary, PATIENT) as sandbox, endless(sandbox, projects) as tasks:
        for number in range(5):
            made = await SandboxRenderer(sandbox).render(
                named(f"s{number}"), chart(CONFIG), project="stranger"
            )
            assert names(made) == ["ConfigMap/x"]
        assert not all(task.done() for task in tasks)


async def test_a_recipe_that_overran_goes_on_in_the_slow_queue_at_low_priority(
    sandbox_binary: Path,
) -> None:
    async with Sandbox(sandbox_binary, PATIENT) as sandbox, endless(sandbox, ("a",)):
        await eventually(lambda: 10 in _niceness(sandbox), what="the slow worker runs")
        assert set(_niceness(sandbox)) <= {0, 10}


async def test_a_project_has_one_evaluation_in_the_slow_queue(sandbox_binary: Path) -> None:
    async with Sandbox(sandbox_binary, PATIENT) as sandbox, endless(sandbox, ("a",)):
        await eventually(lambda: 10 in _niceness(sandbox), what="the slow worker runs")
        with is_busy():
            await SandboxRenderer(sandbox).render(named("second"), chart(ENDLESS), project="a")
        made = await SandboxRenderer(sandbox).render(named("quick"), chart(CONFIG), project="a")
        assert names(made) == ["ConfigMap/x"]


async def test_a_crowd_of_a_project_that_overruns_again_and_again_is_sent_away(
    sandbox_binary: Path,
) -> None:
    async with Sandbox(sandbox_binary, PATIENT) as sandbox, endless(sandbox, ("a",) * 16) as tasks:
        await eventually(lambda: sum(not task.done() for task in tasks) <= 8, what="few wait")
        assert any(not task.done() for task in tasks)


async def test_what_failed_is_not_made_again_with_the_same_files(sandbox_binary: Path) -> None:
    tree = chart(ENDLESS)
    async with Sandbox(sandbox_binary, HASTY) as sandbox:
        first = await _failed(sandbox, tree)
        read = tree.reads
        second = await _failed(sandbox, tree)
        assert second.message == first.message
        assert tree.reads == read


async def test_a_hard_refresh_tries_again_what_failed(sandbox_binary: Path) -> None:
    tree = chart(ENDLESS)
    async with Sandbox(sandbox_binary, HASTY) as sandbox:
        await _failed(sandbox, tree)
        read = tree.reads
        await _failed(sandbox, tree, hard=True)
        assert tree.reads > read


async def test_a_mended_file_or_another_recipe_is_made_at_once(sandbox_binary: Path) -> None:
    async with Sandbox(sandbox_binary, HASTY) as sandbox:
        await _failed(sandbox, chart(ENDLESS))
        made = await SandboxRenderer(sandbox).render(named("x"), chart(CONFIG), project="a")
        assert names(made) == ["ConfigMap/x"]
        tree = chart(ENDLESS)
        with pytest.raises(RenderError):
            await SandboxRenderer(sandbox).render(named("y"), tree, project="a")
        assert tree.reads


async def test_a_slow_recipe_ends_in_the_slow_queue(sandbox_binary: Path) -> None:
    slow = "{{ range $i := 3000000 }}{{ end }}" + CONFIG
    limits = SandboxLimits(workers=1, first_deadline=0.02, deadline=120)
    async with Sandbox(sandbox_binary, limits) as sandbox:
        for _ in range(2):
            made = await SandboxRenderer(sandbox).render(named("x"), chart(slow), project="a")
            assert names(made) == ["ConfigMap/x"]


async def _failed(sandbox: Sandbox, tree: WrittenTree, *, hard: bool = False) -> RenderError:
    with pytest.raises(RenderError) as caught:
        await SandboxRenderer(sandbox).render(named("x"), tree, project="a", hard=hard)
    assert caught.value.reason == "DeadlineExceeded"
    return caught.value


def _niceness(sandbox: Sandbox) -> list[int]:
    return [os.getpriority(os.PRIO_PROCESS, pid) for pid in sandbox.pids]
