"""What the demo prints about going on: every line of it is done, word for word, by a person."""

import asyncio
import json
import re
import shlex
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from kubernetes_asyncio import client, config

from playground.demo.repository import guestbook_deployment
from tests.flows.test_demo import folder, started
from tests.support import eventually

pytestmark = [pytest.mark.flow, pytest.mark.timeout(300)]

__all__ = ["folder"]
ROOT = Path(__file__).parents[2]
IMAGE = "registry.example/web:4.2"


@dataclass(slots=True)
class Demo:
    """What is printed so far."""

    process: Process
    lines: list[str] = field(default_factory=list)

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.lines.append(line.decode().rstrip("\n"))

    def line(self, words: str) -> str:
        """The one printed line with these words, without what is said about it."""
        (found,) = [line for line in self.lines if words in line]
        return found.partition("   #")[0].strip()

    def stays(self) -> bool:
        assert self.process.returncode is None, "\n".join(self.lines)
        return any("log of the agent:" in line for line in self.lines)


@asynccontextmanager
async def staying(folder: Path) -> AsyncIterator[Demo]:
    """A demo that has played its stages and says how to go on."""
    demo = Demo(await started(folder))
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(demo.read())
        try:
            await eventually(demo.stays, within=200, what="the demo says how to go on")
            yield demo
        finally:
            demo.process.terminate()
            await asyncio.wait_for(demo.process.wait(), 60)


async def test_every_printed_line_works(
    folder: Path, control_plane: object, tmp_path: Path
) -> None:
    async with staying(folder) as demo:
        async with following(demo) as facts:
            sha = await pushed(demo, tmp_path)
            await eventually(lambda: told(facts, sha), what="the push's end is told")
        await applications_are_read(demo)
        await an_edit_heals(demo)
        await pages_answer(demo)


@asynccontextmanager
async def following(demo: Demo) -> AsyncIterator[list[dict[str, Any]]]:
    """`gitops events` with the printed words, and `--json` behind them."""
    words = f"exec env {demo.line('events --follow')} --json"
    process = await asyncio.create_subprocess_shell(words, cwd=ROOT, stdout=PIPE, stderr=DEVNULL)
    heard: list[dict[str, Any]] = []

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            heard.append(json.loads(line))  # noqa: PERF401  heard while it is read

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(read())
        try:
            yield heard
        finally:
            process.terminate()
            await asyncio.wait_for(process.wait(), 30)


async def pushed(demo: Demo, folder: Path) -> str:
    """Clone with the printed words, change, commit, push; the commit's id."""
    await ran(demo.line("git clone"), folder)
    clone = folder / "apps"
    manifest = guestbook_deployment("1.1").replace("registry.example/web:1.1", IMAGE)
    (clone / "guestbook" / "deployment.yaml").write_text(manifest)
    who = "-c user.name=kim -c user.email=kim@example.org"
    await ran(f"git {who} commit --all --quiet --message change && git push --quiet", clone)
    return (await ran("git rev-parse HEAD", clone)).strip()


def told(facts: list[dict[str, Any]], sha: str) -> bool:
    ends = [one["data"] for one in facts if one["type"] == "fact.operation.finished.v1"]
    return any(one["revision"] == sha and one["phase"] == "Succeeded" for one in ends)


async def applications_are_read(demo: Demo) -> None:
    """`kubectl get applications -n argocd` and what runs in `demo`, as a client does."""
    assert "kubectl get applications -n argocd" in demo.line("kubectl get")
    async with cluster(demo) as api:
        listed = await client.CustomObjectsApi(api).list_namespaced_custom_object(
            "argoproj.io", "v1alpha1", "argocd", "applications"
        )
        assert {one["metadata"]["name"] for one in listed["items"]} >= {"guestbook", "shop"}
        found = await client.AppsV1Api(api).read_namespaced_deployment("guestbook", "demo")
        assert found.spec.template.spec.containers[0].image == IMAGE


async def an_edit_heals(demo: Demo) -> None:
    """`kubectl -n demo scale deployment guestbook --replicas 7`: it does not stay so."""
    words = shlex.split(demo.line("kubectl -n demo scale"))
    replicas = int(words[words.index("--replicas") + 1])
    async with cluster(demo) as api:
        apps = client.AppsV1Api(api)
        await apps.patch_namespaced_deployment_scale(
            "guestbook", "demo", {"spec": {"replicas": replicas}}
        )

        async def healed() -> bool:
            found = await apps.read_namespaced_deployment("guestbook", "demo")
            return bool(found.spec.replicas == 2)

        await eventually(healed, what="the edit is healed")


@asynccontextmanager
async def cluster(demo: Demo) -> AsyncIterator[client.ApiClient]:
    variable, _, file = demo.line("export KUBECONFIG").removeprefix("export ").partition("=")
    assert variable == "KUBECONFIG"
    api = await config.new_client_from_config(config_file=file)
    async with api:
        yield api


async def pages_answer(demo: Demo) -> None:
    metrics, ready = re.findall(r"http://\S+", demo.line("metrics and health"))
    (dashboard,) = re.findall(r"http://\S+", demo.line("Dashboard:"))
    login, password = re.findall(r"login (\S+), password (\S+)", demo.line("Dashboard:"))[0]
    assert Path(demo.line("log of the agent").rpartition(" ")[2]).is_file()
    async with aiohttp.ClientSession() as session:
        for url in (metrics, ready, dashboard):
            async with session.get(url) as answer:
                assert answer.status == 200, url
        body = {"name": login, "password": password}
        url, origin = f"{dashboard}/api/v1/login", {"Origin": dashboard}
        async with session.post(url, json=body, headers=origin) as answer:
            assert answer.status == 200, await answer.text()


async def ran(command: str, folder: Path) -> str:
    process = await asyncio.create_subprocess_shell(command, cwd=folder, stdout=PIPE, stderr=STDOUT)
    said, _ = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode == 0, said.decode()
    return said.decode()
