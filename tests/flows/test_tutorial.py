"""The tutorial, word for word: each block is run on real parts and prints what it promises."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import uuid
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.loopback import free_port
from playground.githost import GitHost
from playground.kubernetes import control_plane as open_control_plane
from tests.paths import REPOSITORY

pytestmark = pytest.mark.timeout(700)

_PAGE = REPOSITORY / "docs/tutorial.md"
_BLOCK = re.compile(
    r"^(?P<mark><!-- not run: .+ -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_END = "===== end of block"
_PORTS = {
    8080: "GITOPS_HTTP_PORT",
    8081: "GITOPS_HTTP_METRICS_PORT",
    8090: "GITOPS_SERVICE_PORT",
    8091: "GITOPS_SERVICE_METRICS_PORT",
}
_WITHIN = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A block of commands, and the lines that it promises."""

    commands: str
    promised: tuple[str, ...]


def steps(page: str) -> tuple[Step, ...]:
    """Pair each block that is run with the block of text after it."""
    found: list[Step] = []
    for block in _BLOCK.finditer(page):
        if block["kind"] == "text":
            found[-1] = Step(
                commands=found[-1].commands, promised=tuple(block["text"].splitlines())
            )
        elif not block["mark"]:
            found.append(Step(commands=block["text"], promised=()))
    return tuple(found)


def script(found: tuple[Step, ...]) -> str:
    """Write one session of a shell that ends at the first command that fails."""
    blocks = (f"{step.commands}\necho '{_END}'\n" for step in found)
    return "set -e\nset -o pipefail\nset -m\n" + "".join(blocks)


def keeps(line: str, printed: str) -> bool:
    """Whether a printed line has the parts of the promised one, in their order."""
    return bool(re.search(".*".join(map(re.escape, re.split(r"\s*…\s*", line))), printed))


async def test_every_block_of_the_tutorial_does_what_it_says(
    own_servers: None,
    control_plane_binaries: Path,
    sandbox_binary: Path,
    database_url: str,
    git_host: GitHost,
    tmp_path: Path,
) -> None:
    ports = {port: free_port() for port in _PORTS}
    found = steps(with_ports(_PAGE.read_text(), ports))
    assert len(found) > 10
    async with open_control_plane(tmp_path / "cluster", control_plane_binaries) as cluster:
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GITOPS_")},
            **{name: str(ports[port]) for port, name in _PORTS.items()},
            **{f"GIT_{who}_NAME": "kim" for who in ("AUTHOR", "COMMITTER")},
            **{f"GIT_{who}_EMAIL": "kim@example.org" for who in ("AUTHOR", "COMMITTER")},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "KUBECONFIG": str(cluster.kubeconfig),
            "GITOPS_SERVICE_DATABASE_URL": database_url,
            "GITOPS_SANDBOX_BINARY": str(sandbox_binary),
            "REPOSITORY": git_host.create(f"tutorial-{uuid.uuid4().hex}").url,
            "PLUMBLINE": str(REPOSITORY),
        }
        printed = await session(script(found), tmp_path, environment)
    for step, output in zip(found, printed.split(_END), strict=False):
        for line in step.promised:
            assert any(keeps(line, one) for one in output.splitlines()), f"{line!r} in {output}"


def with_ports(page: str, ports: dict[int, int]) -> str:
    """Put ports that are free here in the place of those that everybody has."""
    for port, free in ports.items():
        page = page.replace(f":{port}", f":{free}")
    return page


async def session(commands: str, folder: Path, environment: dict[str, str]) -> str:
    """Run the commands in a shell of a session of its own, of which nothing is left."""
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", commands),
        cwd=folder,
        env=environment,
        stdin=DEVNULL,
        stdout=PIPE,
        stderr=STDOUT,
        start_new_session=True,
    )
    try:
        output, _ = await asyncio.wait_for(process.communicate(), _WITHIN)
    finally:
        end_session(process.pid)
    assert process.returncode == 0, output.decode()[-8000:]
    return output.decode()


def end_session(leader: int) -> None:
    """Kill what the session has left; with job control each job is a group of its own."""
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            session_of = int(entry.read_text().rpartition(")")[2].split()[3])
        except OSError:
            continue
        if session_of == leader:
            os.kill(int(entry.parent.name), signal.SIGKILL)


def test_a_block_is_run_unless_it_says_that_it_is_not() -> None:
    page = (
        "```shell\nfirst\n```\n\n```text\nits … output\n```\n"
        "<!-- not run: it is dear -->\n```shell\nsecond\n```\n```shell\nthird\n```\n"
    )
    assert steps(page) == (
        Step(commands="first\n", promised=("its … output",)),
        Step(commands="third\n", promised=()),
    )
    assert keeps("its … output", "| its long output |")
    assert not keeps("its … output", "output of its")
