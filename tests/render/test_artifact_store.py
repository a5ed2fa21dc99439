"""Artifacts on disk: found again, checked, bounded; and in Redis, which may be away."""

from pathlib import Path

import pytest
import structlog

from agent.store.artifacts import ArtifactStore
from agent.store.redis import RedisArtifacts
from bus.identity import digest_of
from playground.redis import redis_server


async def test_what_was_put_is_found_after_a_restart(tmp_path: Path) -> None:
    digest = await ArtifactStore.open(tmp_path).put(b"objects")
    assert digest == digest_of(b"objects")
    assert await ArtifactStore.open(tmp_path).get(digest) == b"objects"


async def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    store = ArtifactStore.open(tmp_path)
    digest = await store.put(b"objects")
    path = tmp_path / digest[7:9] / digest[7:]
    path.write_bytes(b"other")
    assert await store.get(digest) is None
    assert await store.put(b"objects") == digest
    assert await store.get(digest) == b"objects"


async def test_a_file_that_somebody_removed_is_none(tmp_path: Path) -> None:
    store = ArtifactStore.open(tmp_path)
    digest = await store.put(b"objects")
    (tmp_path / digest[7:9] / digest[7:]).unlink()
    assert await store.get(digest) is None


async def test_what_was_used_last_is_kept(tmp_path: Path) -> None:
    store = ArtifactStore.open(tmp_path, max_total=20)
    first, second = await store.put(b"1" * 10), await store.put(b"2" * 10)
    assert await store.get(first) is not None
    third = await store.put(b"3" * 10)
    assert [await store.get(one) is not None for one in (first, second, third)] == [
        True,
        False,
        True,
    ]


def test_half_a_file_of_a_crash_is_swept(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "x.part").write_bytes(b"half")
    ArtifactStore.open(tmp_path)
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.flow
async def test_another_disk_finds_it_in_redis(tmp_path: Path, redis_url: str) -> None:
    shared = RedisArtifacts.at(redis_url)
    try:
        content = str(tmp_path).encode()
        digest = await ArtifactStore.open(tmp_path / "one", shared=shared).put(content)
        other = ArtifactStore.open(tmp_path / "two", shared=shared)
        assert await other.get(digest) == content
        assert await ArtifactStore.open(tmp_path / "two").get(digest) == content
    finally:
        await shared.aclose()


@pytest.mark.flow
async def test_redis_away_is_said_once_and_nothing_fails(tmp_path: Path) -> None:
    async with redis_server(tmp_path / "redis") as server:
        shared = RedisArtifacts.at(server.url)
        store = ArtifactStore.open(tmp_path / "disk", shared=shared)
        await store.put(b"1")
    with structlog.testing.capture_logs() as logs:
        digest = await store.put(b"2")
        assert await store.get(digest) == b"2"
        assert await store.get(digest_of(b"absent")) is None
    assert [line["log_level"] for line in logs] == ["warning"]
    await shared.aclose()
