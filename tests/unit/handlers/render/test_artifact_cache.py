"""The last artifacts in memory: served without a look at the disk, bounded, nothing large."""

import shutil
from pathlib import Path

from agent.store.artifact_store import ArtifactCache, ArtifactStore
from tests.ciphers import CIPHER


async def test_what_was_just_put_is_there_without_the_disk(tmp_path: Path) -> None:
    store = ArtifactCache(behind=ArtifactStore.open(tmp_path, cipher=CIPHER))
    digest = await store.put(b"objects")
    shutil.rmtree(tmp_path)

    assert await store.get(digest) == b"objects"


async def test_what_was_read_once_is_there_without_the_disk(tmp_path: Path) -> None:
    digest = await ArtifactStore.open(tmp_path, cipher=CIPHER).put(b"objects")
    store = ArtifactCache(behind=ArtifactStore.open(tmp_path, cipher=CIPHER))
    await store.get(digest)
    shutil.rmtree(tmp_path)

    assert await store.get(digest) == b"objects"


async def test_the_oldest_gives_way_and_is_read_again(tmp_path: Path) -> None:
    store = ArtifactCache(behind=ArtifactStore.open(tmp_path, cipher=CIPHER), max_total=20)
    digests = [await store.put(letter * 10) for letter in (b"1", b"2", b"3")]
    assert await store.get(digests[0]) == b"1" * 10
    shutil.rmtree(tmp_path)

    assert [await store.get(one) is not None for one in digests] == [True, False, True]


async def test_nothing_large_is_kept(tmp_path: Path) -> None:
    store = ArtifactCache(behind=ArtifactStore.open(tmp_path, cipher=CIPHER), max_one=5)
    digest = await store.put(b"objects")
    shutil.rmtree(tmp_path)

    assert await store.get(digest) is None
