"""What the demo prints about going on: every line of it is done, word for word, by a person."""

import asyncio
import json
import os
import re
import shlex
import sys
from asyncio.subprocess import DEVNULL, PIPE, STDOUT, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from kubernetes_asyncio import client, config

from tests.flows.test_demo import folder, started
from tests.paths import REPOSITORY
from tests.support import eventually

pytestmark = pytest.mark.timeout(300)

__all__ = ["folder"]
_WHO = {
    "GIT_AUTHOR_NAME": "kim",
    "GIT_AUTHOR_EMAIL": "kim@example.org",
    "GIT_COMMITTER_NAME": "kim",
    "GIT_COMMITTER_EMAIL": "kim@example.org",
}
_NARROW = 80


@dataclass(slots=True)
class StayingDemo:
    """What is printed so far, and the folder where the demo was started."""

    process: Process
    folder: Path
    lines: list[str] = field(default_factory=list)

    async def read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.lines.append(line.decode().rstrip())

    @property
    def directions(self) -> list[str]:
        """The four lines of where to look."""
        at = next(at for at, line in enumerate(self.lines) if "Where to look:" in line)
        return [line for line in self.lines[at + 1 :] if line.strip()]

    def stays(self) -> bool:
        assert self.process.returncode is None, "\n".join(self.lines)
        return any("make demo-info" in line for line in self.lines)

    def info(self, words: str) -> str:
        """The first line of `.demo/info` with these words, without what is said about it."""
        lines = (self.folder / ".demo/info").read_text().splitlines()
        return next(line for line in lines if words in line).partition("  (")[0].strip()

    async def run(self, command: str, shell: str = "bash") -> str:
        """Run the command in a new shell of a person who has sourced the printed file."""
        suffix = ".fish" if shell == "fish" else ""
        script = f"source .demo/env{suffix}; {command}"
        process = await asyncio.create_subprocess_exec(
            shell,
            "-c",
            script,
            cwd=self.folder,
            env={**os.environ, **_WHO},
            stdout=PIPE,
            stderr=STDOUT,
        )
        logged, _ = await asyncio.wait_for(process.communicate(), 60)
        assert process.returncode == 0, f"{command}: {logged.decode()}"
        return logged.decode()


@asynccontextmanager
async def staying(folder: Path, *arguments: str) -> AsyncIterator[StayingDemo]:
    """A demo that has played its stages and says how to go on."""
    demo = StayingDemo(await started(folder, *arguments), folder)
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(demo.read())
        try:
            await eventually(demo.stays, within=200, what="the demo says how to go on")
            yield demo
        finally:
            demo.process.terminate()
            await asyncio.wait_for(demo.process.wait(), 60)
    assert not (folder / ".demo").exists()


async def test_every_printed_line_works(folder: Path, control_plane: object) -> None:
    async with staying(folder) as demo:
        assert [len(line) <= _NARROW for line in demo.directions] == [True] * 4
        await the_link_signs_in(demo)
        await each_shell_is_logged_in(demo)
        async with following(demo) as facts:
            sha = await what_is_broken_is_repaired(demo)
            await eventually(lambda: has_facts(facts, sha), what="the push's end is told")
        await an_edit_heals(demo)
        await the_rest_is_printed(demo)


async def the_link_signs_in(demo: StayingDemo) -> None:
    """As a browser does that follows the link: the page that it leads to knows the person."""
    (link,) = re.findall(r"http://\S+", demo.directions[0])
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser:
        async with browser.get(link) as page:
            assert page.status == 200
            service = page.url.origin()
        async with browser.get(service / "api/v1/me") as answer:
            assert (await answer.json())["principal"]["name"] == "admin"
        async with browser.get(link.rpartition("/")[0] + "/guessed") as refused:
            assert refused.status == 404


async def each_shell_is_logged_in(demo: StayingDemo) -> None:
    """Wherever the shell is installed: bash is always there."""
    assert "source .demo/env" in demo.directions[1]
    assert "gitops app get checkout" in demo.directions[2]
    for shell in filter(is_there, ("bash", "zsh", "fish")):
        assert 'Back-off pulling image "registry.example/checkout:missing"' in await demo.run(
            "gitops app get checkout", shell
        )
    assert "_gitops" in await demo.run("complete -p gitops")


def is_there(program: str) -> bool:
    return any(Path(path, program).is_file() for path in os.environ["PATH"].split(":"))


@asynccontextmanager
async def following(demo: StayingDemo) -> AsyncIterator[list[dict[str, Any]]]:
    """`gitops events` on NATS with the printed words, and `--json` behind them."""
    words = f"source .demo/env; exec env {demo.info('GITOPS_NATS_URL')} --json"
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", words, cwd=demo.folder, stdout=PIPE, stderr=DEVNULL
    )
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


async def what_is_broken_is_repaired(demo: StayingDemo) -> str:
    """Clone, mend, commit and push with the printed words; the commit's id."""
    for words in ("git clone", "sed -i", "commit -am", "apps push", "gitops app wait"):
        logged = await demo.run(demo.info(words))
    assert "Healthy" in logged
    return (await demo.run("git -C .demo/apps rev-parse HEAD")).strip()


def has_facts(facts: list[dict[str, Any]], sha: str) -> bool:
    ends = [one["data"] for one in facts if one["type"] == "fact.operation.finished.v1"]
    return any(one["revision"] == sha and one["phase"] == "Succeeded" for one in ends)


async def an_edit_heals(demo: StayingDemo) -> None:
    """`kubectl -n demo scale deployment guestbook --replicas 7`: it does not stay so."""
    words = shlex.split(demo.info("kubectl -n demo scale"))
    replicas = int(words[words.index("--replicas") + 1])
    kubeconfig = (await demo.run("echo $KUBECONFIG")).strip()
    assert kubeconfig == demo.info("laptop  ").split()[-1]
    async with await config.new_client_from_config(config_file=kubeconfig) as api:
        apps = client.AppsV1Api(api)
        await apps.patch_namespaced_deployment_scale(
            "guestbook", "demo", {"spec": {"replicas": replicas}}
        )

        async def healed() -> bool:
            found = await apps.read_namespaced_deployment("guestbook", "demo")
            return bool(found.spec.replicas == 2)

        await eventually(healed, what="the edit is healed")
    assert "apps/Deployment/demo/guestbook" in await demo.run(demo.info("gitops drift"))


async def the_rest_is_printed(demo: StayingDemo) -> None:
    """`make demo-info` prints the file; each address in it answers, and each file is there."""
    assert "make demo-info" in demo.directions[3]
    environment = f"PYTHONPATH={shlex.quote(str(REPOSITORY))}"
    printed = await demo.run(f"{environment} {sys.executable} -m playground.demo.directions")
    assert printed == (demo.folder / ".demo/info").read_text()
    for words in ("agent  ", "service  ", "remote  "):
        assert Path(demo.info(words).split()[-1]).is_file()
    async with aiohttp.ClientSession() as session:
        for words in ("metrics  ", "ready  "):
            async with session.get(demo.info(words).split()[-1]) as answer:
                assert answer.status == 200, words
        found = re.search(r"(http\S+) name (\S+) password (\S+)", demo.info("login  "))
        assert found is not None
        url, name, password = found.groups()
        body = {"name": name, "password": password}
        async with session.post(f"{url}/api/v1/login", json=body) as answer:
            assert answer.status == 200, await answer.text()
