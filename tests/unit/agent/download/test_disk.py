"""The disk of charts and artifacts has a budget, and what is in use stays readable."""

import os
import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agent.download.archive import ArchivedFile
from agent.download.archive_store import ArchiveStore
from agent.download.disk import DownloadDisk, open_disk
from agent.git.tree import GitTree
from playground.charthost import ChartHost
from sandbox.client import Sandbox
from sandbox.client.limits import SandboxLimits
from tests.unit.agent.download.reader import SourceReading, source_reading

MIB = 1024 * 1024
BUDGET = 5 * MIB
CHANCE = random.Random(1)  # noqa: S311  bytes that cannot be packed


@pytest.fixture
def disk(tmp_path: Path) -> DownloadDisk:
    return open_disk(tmp_path, BUDGET)


def write(disk: DownloadDisk, chart: str, version: str) -> GitTree:
    """Write a tree of 1 MiB; all others were used a minute longer ago."""
    for path in disk.folder.glob("*/*"):
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 60))
    file = ArchivedFile(path="a", content=CHANCE.randbytes(MIB))
    return ArchiveStore(disk.folder / chart, disk).write(version, "digest", [file])


def is_kept(disk: DownloadDisk, chart: str, version: str) -> bool:
    return ArchiveStore(disk.folder / chart, disk).read(version, "digest") is not None


def is_readable(tree: GitTree) -> bool:
    entry = tree.entry("a")
    return entry is not None and len(tree.read(entry.oid)) == MIB


def used_bytes(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def test_all_charts_together_stay_within_the_budget_and_the_longest_unused_goes(
    disk: DownloadDisk,
) -> None:
    for number in range(4):
        write(disk, f"chart-of-a-vanished-application-{number}", "1.0.0")
    for number in range(4):
        write(disk, "web", f"1.0.{number}")

    assert used_bytes(disk.folder) <= BUDGET
    assert is_kept(disk, "web", "1.0.3")
    assert not is_kept(disk, "chart-of-a-vanished-application-0", "1.0.0")
    assert not (disk.folder / "chart-of-a-vanished-application-0").exists()


def test_what_an_application_follows_outlasts_what_was_written_later(disk: DownloadDisk) -> None:
    write(disk, "web", "1.0.0")
    for number in range(9):
        ArchiveStore(disk.folder / "web", disk).use("1.0.0")
        write(disk, "other", f"1.0.{number}")

    assert is_kept(disk, "web", "1.0.0")
    assert used_bytes(disk.folder) <= BUDGET


def test_a_tree_that_is_being_read_is_not_removed_under_its_reader(disk: DownloadDisk) -> None:
    held = write(disk, "web", "1.0.0")
    for number in range(1, 10):
        write(disk, "web", f"1.0.{number}")
    assert is_readable(held)
    del held
    write(disk, "web", "2.0.0")

    assert used_bytes(disk.folder) <= BUDGET
    assert not is_kept(disk, "web", "1.0.0")


def test_a_chart_of_very_many_versions_is_kept_whole_while_there_is_room(tmp_path: Path) -> None:
    disk = open_disk(tmp_path)
    store = ArchiveStore(tmp_path / "web", disk)
    for number in range(60):
        store.write(f"1.0.{number}", "digest", [ArchivedFile(path="a", content=b"%d" % number)])
    assert all(store.read(f"1.0.{number}", "digest") for number in range(60))


def test_what_a_killed_process_left_is_gone_at_the_next_start(disk: DownloadDisk) -> None:
    write(disk, "web", "1.0.0")
    (disk.scratch_folder / "tmp1").mkdir()
    (disk.scratch_folder / "tmp1" / "archive").write_bytes(b"x")
    (disk.folder / "web" / "index.partial-7").write_bytes(b"x")
    for name in ("chart-1", "layer-1", "registry-1", "scratch-1", "a.git.partial-7"):
        (disk.folder / "web" / name).mkdir()

    again = open_disk(disk.folder, BUDGET)

    assert not list(again.scratch_folder.iterdir())
    assert [one.suffix for one in (disk.folder / "web").iterdir()] == [".git"]
    assert is_kept(again, "web", "1.0.0")
    assert is_readable(write(again, "web", "1.0.1"))


@pytest.fixture
async def reader(sandbox_binary: Path, tmp_path: Path) -> AsyncIterator[SourceReading]:
    async with Sandbox(sandbox_binary, SandboxLimits(workers=1)) as pool:
        yield source_reading(tmp_path, pool)


async def test_an_index_that_gave_way_is_fetched_anew(
    reader: SourceReading, tmp_path: Path
) -> None:
    async with ChartHost() as host:
        host.publish("web", "1.0.0")
        assert await reader.resolved(host.url, "*", "web") == "1.0.0"
        open_disk(tmp_path / "charts", budget=0)
        host.publish("web", "1.1.0")

        assert await reader.resolved(host.url, "*", "web") == "1.1.0"
        assert (await reader.files(host.url, "1.1.0", "web")).entry("Chart.yaml")
