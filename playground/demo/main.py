"""Runs the demo: opens its world, plays the stages, shows what happens, and stays if asked to.

The facts are read from the bus as any subscriber would, the applications from the cluster.
"""

from __future__ import annotations

import asyncio
import signal
import tempfile
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import uvloop
from rich.console import Console
from rich.text import Text

from agent.store.files import write_whole
from playground.build import (
    build_control_plane,
    build_kubelet,
    build_registry,
    ignore_progress,
    missing_builds,
)
from playground.demo.control_plane import open_sign_in
from playground.demo.directions import information, where_to_look
from playground.demo.running_demo import (
    DemoPlan,
    RunningDemo,
    open_running_demo,
    sandbox_program,
)
from playground.demo.scene_name import SceneName
from playground.demo.scenes import SCENES, DemoScene
from playground.demo.screen import DemoScreen, Timeline, showing
from playground.demo.shell_files import FOLDER, open_shell_files, require_demo_folder
from playground.demo.source_hosts import require_programs
from playground.demo.stage import DemoStage, StageFailedError, StageOutcome, StageReport
from playground.screen import watching
from playground.toolchain import ToolMissingError

_LOOK_EVERY = 0.3


def run_demo(*, scene: SceneName, once: bool, json_file: Path | None) -> int:
    """Return the exit code: 0 only if every stage held.

    1 if one did not, 2 where the demo cannot begin, 130 when interrupted.
    """
    console = Console()
    chosen = SCENES[scene]
    try:
        require_demo_folder(FOLDER.absolute())
        if chosen.plan.source_hosts:
            require_programs()
    except (FileExistsError, ToolMissingError) as error:
        console.print(str(error), soft_wrap=True, highlight=False)
        return 2
    sandbox = _built(chosen.plan)
    try:
        wishes = DemoOptions(scene=chosen, once=once, json_file=json_file, folder=FOLDER.absolute())
        report = uvloop.run(_demo(console, sandbox, wishes))
    except KeyboardInterrupt:
        console.print("\ninterrupted; everything that was started is stopped")
        return 130
    return 0 if report.held else 1


def _built(plan: DemoPlan) -> Path:
    """Build what is missing, with a progress display; return the sandbox's program."""
    if not missing_builds(registry=plan.source_hosts):
        return sandbox_program(ignore_progress)
    with watching(Console(stderr=True)) as watch:
        build_control_plane(watch)
        build_kubelet(watch)
        if plan.source_hosts:
            build_registry(watch)
        return sandbox_program(watch)


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    scene: DemoScene
    once: bool
    json_file: Path | None
    folder: Path
    """Where another terminal finds how to use the demo; absolute."""


async def _demo(console: Console, sandbox: Path, wishes: DemoOptions) -> StageReport:
    began = time.monotonic()
    console.print(f"opening the playground: {wishes.scene.opening} ...")
    with tempfile.TemporaryDirectory(prefix="gitops-demo-", ignore_cleanup_errors=True) as folder:
        async with open_running_demo(Path(folder), sandbox, wishes.scene.plan) as demo:
            console.print(f"open after {time.monotonic() - began:.1f} s")
            with showing(console) as screen:
                return await _show(demo, screen, wishes)


async def _show(demo: RunningDemo, screen: DemoScreen, wishes: DemoOptions) -> StageReport:
    """While the stages are played, facts and applications go to the screen as they come."""
    async with asyncio.TaskGroup() as tasks:
        followers = (
            tasks.create_task(_facts(demo, screen), name="demo facts"),
            tasks.create_task(_applications(demo, screen), name="demo applications"),
        )
        report = await _play(demo, screen, wishes.scene.stages)
        _write(report, wishes.json_file)
        if not wishes.once:
            await _stay(demo, screen, wishes)
        for follower in followers:
            follower.cancel()
    return report


async def _stay(demo: RunningDemo, screen: DemoScreen, wishes: DemoOptions) -> None:
    """Say where to look, and stay until somebody ends the demo."""
    async with (
        open_sign_in(demo.service) as link,
        open_shell_files(demo.service, demo.laptop.kubernetes.kubeconfig, wishes.folder) as files,
    ):
        files.info.write_text(information(demo, wishes.scene, link, files))
        screen.write(where_to_look(wishes.scene, link))
        await _until_interrupted()
        screen.write(Text("stopping ..."))


async def _play(
    demo: RunningDemo, screen: DemoScreen, stages: tuple[DemoStage, ...]
) -> StageReport:
    outcomes = []
    for number, stage in enumerate(stages, 1):
        screen.stage(number, len(stages), stage)
        outcome = await _run(stage, demo)
        screen.outcome(outcome)
        outcomes.append(outcome)
    return StageReport(stages=tuple(outcomes))


async def _run(stage: DemoStage, demo: RunningDemo) -> StageOutcome:
    began = time.monotonic()
    try:
        seen, held = await stage.run(demo), True
    except StageFailedError as error:
        seen, held = str(error), False
    return StageOutcome(
        name=stage.name,
        expected=stage.expected,
        seen=seen,
        held=held,
        ms=round((time.monotonic() - began) * 1000),
    )


async def _facts(demo: RunningDemo, screen: DemoScreen) -> None:
    timeline = Timeline()
    async with demo.bus.facts(since=datetime.now(UTC)) as facts:
        async for envelope, fact in facts:
            screen.line(timeline.line(envelope, fact))


async def _applications(demo: RunningDemo, screen: DemoScreen) -> None:
    while True:
        listed = await demo.api.get("/apis/argoproj.io/v1alpha1/applications")
        screen.applications(listed["items"])
        await asyncio.sleep(_LOOK_EVERY)


def _write(report: StageReport, file: Path | None) -> None:
    if file is not None:
        write_whole(file, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


async def _until_interrupted() -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    await asked.wait()
