"""The demo is a promise: every stage holds, the report has its shape, nothing is left behind."""

import asyncio
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from playground.demo.stages import STAGES
from tests.paths import REPOSITORY
from tests.support import eventually

pytestmark = pytest.mark.timeout(300)

GITOPS = (sys.executable, "-c", "from cli.main import main; main()")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Open to every account, which pytest's own is not: under root PostgreSQL runs as another."""
    with tempfile.TemporaryDirectory(prefix="demo-test-") as name:
        path = Path(name)
        path.chmod(0o755)
        yield path


async def started(folder: Path, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *GITOPS,
        "demo",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder), "PYTHONPATH": str(REPOSITORY)},
        start_new_session=True,
    )


def processes_of(folder: Path) -> list[str]:
    """Command lines of everything that runs out of the folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if str(folder) in line:
            found.append(line)
    return found


async def test_every_stage_of_the_demo_holds(folder: Path, control_plane: object) -> None:
    report = folder / "report.json"
    demo = await started(folder, "--once", "--json", str(report))
    output, _ = await demo.communicate()
    stages = json.loads(report.read_text())["stages"]
    assert demo.returncode == 0, output.decode()
    assert [stage["name"] for stage in stages] == [stage.name for stage in STAGES]
    assert all(stage["held"] for stage in stages)
    assert all(set(stage) == {"name", "expected", "seen", "held", "ms"} for stage in stages)
    assert not processes_of(folder)
    assert not list(folder.glob("gitops-demo-*"))


async def test_an_interrupted_demo_leaves_no_process_and_no_file(
    folder: Path, control_plane: object
) -> None:
    demo = await started(folder)
    await eventually(lambda: len(processes_of(folder)) > 3, within=120)
    demo.send_signal(signal.SIGINT)
    await asyncio.wait_for(demo.communicate(), 60)
    await eventually(lambda: not processes_of(folder), within=120)
    assert not list(folder.glob("gitops-demo-*"))
