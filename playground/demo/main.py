"""Runs the demo: opens the house, plays the stages, shows what happens, and stays if asked to.

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
from playground.build import build_control_plane
from playground.compiling import Watcher
from playground.demo.far_end import ADMINISTRATOR
from playground.demo.house import House, open_house, sandbox_program
from playground.demo.screen import Screen, showing
from playground.demo.stage import NotHeldError, Outcome, Report, Stage
from playground.demo.stages import STAGES
from playground.demo.timeline import Timeline
from playground.screen import watching

_LOOK_EVERY = 0.3


def run_demo(*, once: bool, json_file: Path | None) -> int:
    """The exit code: 0 only if every stage held, 1 if one did not, 130 when interrupted."""
    console = Console()
    with watching(Console(stderr=True)) as watch:
        sandbox = _build(watch)
    try:
        report = uvloop.run(_demo(console, sandbox, Wishes(once=once, json_file=json_file)))
    except KeyboardInterrupt:
        console.print("\ninterrupted; everything that was started is stopped")
        return 130
    return 0 if report.held else 1


def _build(watch: Watcher) -> Path:
    build_control_plane(watch)
    return sandbox_program(watch)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    once: bool
    json_file: Path | None


async def _demo(console: Console, sandbox: Path, wishes: Wishes) -> Report:
    began = time.monotonic()
    console.print("opening the playground: two clusters, their agents, the service, Git ...")
    with tempfile.TemporaryDirectory(prefix="gitops-demo-", ignore_cleanup_errors=True) as folder:
        async with open_house(Path(folder), sandbox) as house:
            console.print(f"open after {time.monotonic() - began:.1f} s")
            with showing(console) as screen:
                return await _show(house, screen, wishes)


async def _show(house: House, screen: Screen, wishes: Wishes) -> Report:
    """While the stages are played, facts and applications go to the screen as they come."""
    async with asyncio.TaskGroup() as tasks:
        followers = (
            tasks.create_task(_facts(house, screen), name="demo facts"),
            tasks.create_task(_applications(house, screen), name="demo applications"),
        )
        report = await _play(house, screen)
        _write(report, wishes.json_file)
        if not wishes.once:
            screen.say(_how_to_go_on(house))
            await _until_interrupted()
            screen.say(Text("stopping ..."))
        for follower in followers:
            follower.cancel()
    return report


async def _play(house: House, screen: Screen) -> Report:
    outcomes = []
    for number, stage in enumerate(STAGES, 1):
        screen.stage(number, len(STAGES), stage)
        outcome = await _run(stage, house)
        screen.outcome(outcome)
        outcomes.append(outcome)
    return Report(stages=tuple(outcomes))


async def _run(stage: Stage, house: House) -> Outcome:
    began = time.monotonic()
    try:
        seen, held = await stage.run(house), True
    except NotHeldError as error:
        seen, held = str(error), False
    return Outcome(
        name=stage.name,
        expected=stage.expected,
        seen=seen,
        held=held,
        ms=round((time.monotonic() - began) * 1000),
    )


async def _facts(house: House, screen: Screen) -> None:
    timeline = Timeline()
    async with house.bus.facts(since=datetime.now(UTC)) as facts:
        async for envelope, fact in facts:
            screen.line(timeline.line(envelope, fact))


async def _applications(house: House, screen: Screen) -> None:
    while True:
        listed = await house.api.get("/apis/argoproj.io/v1alpha1/applications")
        screen.applications(listed["items"])
        await asyncio.sleep(_LOOK_EVERY)


def _write(report: Report, file: Path | None) -> None:
    if file is not None:
        write_whole(file, msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")


async def _until_interrupted() -> None:
    loop, asked = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, asked.set)
    await asked.wait()


def _how_to_go_on(house: House) -> Text:
    near, far = house.laptop.kubernetes.kubeconfig, house.remote.kubernetes.kubeconfig
    agent = house.laptop.agent
    return Text.assemble(
        ("\nThe demo stays up; press Ctrl-C to stop it. Next steps:\n", "bold"),
        ("\n  Dashboard: ", "bold"),
        f"{house.far_end.url}   login {ADMINISTRATOR}, password {house.far_end.password}\n",
        f"  .venv/bin/gitops login {house.far_end.url} --name {ADMINISTRATOR}"
        "   # then: gitops app list\n\n",
        f"  git clone {house.repository.url} && cd apps   # change, commit, push: watch it here\n",
        f"  export KUBECONFIG={near}   # the remote cluster: {far}\n",
        "  kubectl get applications -n argocd; kubectl get all -n demo\n",
        "  kubectl -n demo scale deployment guestbook --replicas 7   # heals\n",
        "\n  GITOPS_ACCOUNT=demo GITOPS_AGENT=laptop "
        f"GITOPS_NATS_URL={house.world.nats.url} "
        f"GITOPS_NATS_NKEY_FILE={house.subscriber_seed_file} .venv/bin/gitops events --follow\n",
        f"  metrics and health: {agent.metrics_url}/metrics  {agent.metrics_url}/readyz\n",
        f"  log of the agent: {agent.child.program.log}\n",
    )
