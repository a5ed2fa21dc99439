"""The objects of Git LFS on the disk of a machine that may have died while it wrote them."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NoReturn

from agent.git.lfs_tree import LfsPointer
from agent.git.mirror_folder import discard_leftovers
from agent.git.server_trust import MachineTrust
from agent.lfs.repository_objects import RepositoryObjects

CONTENT = b"kind: ConfigMap\n"
POINTER = LfsPointer(sha256(CONTENT).hexdigest(), len(CONTENT))


async def no_remote() -> NoReturn:
    raise AssertionError("nothing is fetched")


def objects(folder: Path) -> RepositoryObjects:
    return RepositoryObjects(folder=folder, remote=no_remote, trust=MachineTrust())


def test_only_the_bytes_that_the_commit_names_are_read_from_the_disk(tmp_path: Path) -> None:
    file = tmp_path / POINTER.digest
    file.write_bytes(bytes(len(CONTENT)))
    assert objects(tmp_path).kept(POINTER) is None
    file.write_bytes(CONTENT)
    assert objects(tmp_path).kept(POINTER) == CONTENT


def test_halves_of_a_killed_fetch_are_removed_and_objects_stay(tmp_path: Path) -> None:
    half = tmp_path / "shop.lfs" / "tmp1"
    half.mkdir(parents=True)
    (half / "object").write_bytes(b"half")
    kept = tmp_path / "shop.lfs" / POINTER.digest
    kept.write_bytes(CONTENT)
    discard_leftovers(tmp_path)
    assert not half.exists()
    assert kept.exists()
