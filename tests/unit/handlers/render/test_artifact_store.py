"""Artifacts on disk: found again, checked, bounded; and in Redis, which may be away."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
import structlog

from agent.store.artifact_store import ArtifactStore
from agent.store.cipher import Cipher
from agent.store.redis_artifacts import RedisArtifacts
from bus.identity import Digest, digest_of
from playground.redis import redis_server
from tests.ciphers import CIPHER


async def test_what_was_put_is_found_after_a_restart(tmp_path: Path) -> None:
    digest = await ArtifactStore.open(tmp_path, cipher=CIPHER).put(b"objects")
    assert digest == digest_of(b"objects")
    assert await ArtifactStore.open(tmp_path, cipher=CIPHER).get(digest) == b"objects"


async def test_a_damaged_file_is_as_good_as_none(tmp_path: Path) -> None:
    store = ArtifactStore.open(tmp_path, cipher=CIPHER)
    digest = await store.put(b"objects")
    path = tmp_path / digest[7:9] / digest[7:]
    path.write_bytes(b"other")
    assert await store.get(digest) is None
    assert await store.put(b"objects") == digest
    assert await store.get(digest) == b"objects"


async def test_a_file_that_somebody_removed_is_none(tmp_path: Path) -> None:
    store = ArtifactStore.open(tmp_path, cipher=CIPHER)
    digest = await store.put(b"objects")
    (tmp_path / digest[7:9] / digest[7:]).unlink()
    assert await store.get(digest) is None


async def test_what_was_used_last_is_kept(tmp_path: Path) -> None:
    store = ArtifactStore.open(tmp_path, cipher=CIPHER, max_total=80)
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
    ArtifactStore.open(tmp_path, cipher=CIPHER)
    assert not list(tmp_path.rglob("*.part"))


async def test_another_disk_finds_it_in_redis(tmp_path: Path, redis_url: str) -> None:
    shared = RedisArtifacts.at(redis_url)
    try:
        content = str(tmp_path).encode()
        digest = await ArtifactStore.open(tmp_path / "one", cipher=CIPHER, shared=shared).put(
            content
        )
        other = ArtifactStore.open(tmp_path / "two", cipher=CIPHER, shared=shared)
        assert await other.get(digest) == content
        assert await ArtifactStore.open(tmp_path / "two", cipher=CIPHER).get(digest) == content
    finally:
        await shared.aclose()


async def test_redis_away_is_said_once_and_nothing_fails(tmp_path: Path) -> None:
    async with redis_server(tmp_path / "redis") as server:
        shared = RedisArtifacts.at(server.url)
        store = ArtifactStore.open(tmp_path / "disk", cipher=CIPHER, shared=shared)
        await store.put(b"1")
    with structlog.testing.capture_logs() as logs:
        digest = await store.put(b"2")
        assert await store.get(digest) == b"2"
        assert await store.get(digest_of(b"absent")) is None
    assert [line["log_level"] for line in logs] == ["warning"]
    await shared.aclose()


SECRET = b'{"kind":"Secret","data":{"password":"aHVudGVyMg=="}}'


class Kept:
    """A cache that somebody else can read."""

    def __init__(self) -> None:
        self.content: dict[Digest, bytes] = {}

    async def get(self, digest: Digest) -> bytes | None:
        return self.content.get(digest)

    async def put(self, digest: Digest, content: bytes) -> None:
        self.content[digest] = content


async def test_a_rendered_secret_is_readable_neither_on_disk_nor_in_the_cache(
    tmp_path: Path,
) -> None:
    shared = Kept()
    digest = await ArtifactStore.open(tmp_path, cipher=CIPHER, shared=shared).put(SECRET)
    (file,) = tmp_path.glob("??/*")
    for kept in (file.read_bytes(), shared.content[digest]):
        assert b"password" not in kept
        assert b"aHVudGVyMg" not in kept
        assert CIPHER.decrypt(digest, kept) == SECRET


async def test_what_was_kept_with_a_key_that_is_lost_is_as_good_as_gone(tmp_path: Path) -> None:
    shared = Kept()
    digest = await ArtifactStore.open(tmp_path, cipher=CIPHER, shared=shared).put(SECRET)
    other = ArtifactStore.open(tmp_path, cipher=Cipher(b"y" * 32), shared=shared)
    assert await other.get(digest) is None
    assert await other.put(SECRET) == digest
    assert await other.get(digest) == SECRET


async def test_an_artifact_cannot_be_put_in_anothers_place(tmp_path: Path) -> None:
    shared = Kept()
    store = ArtifactStore.open(tmp_path / "one", cipher=CIPHER, shared=shared)
    one, other = await store.put(b"one"), await store.put(b"other")
    shared.content[one] = shared.content[other]
    elsewhere = ArtifactStore.open(tmp_path / "two", cipher=CIPHER, shared=shared)
    assert await elsewhere.get(one) is None
    assert await elsewhere.get(other) == b"other"


@pytest.mark.parametrize("kept", [b"", b"\x01", b"\x01short", b"plain content of an older version"])
def test_bytes_that_are_no_artifact_of_ours_are_none(kept: bytes) -> None:
    assert CIPHER.decrypt(digest_of(b"x"), kept) is None


async def test_redis_lets_nobody_in_without_its_password(redis_url: str) -> None:
    parts = urlsplit(redis_url)
    bare = f"redis://{parts.hostname}:{parts.port}/0"
    for url, password, away in ((bare, "", True), (bare, parts.password or "", False)):
        shared = RedisArtifacts.at(url, password)
        await shared.put(digest_of(b"x"), b"x")
        assert shared.away is away
        await shared.aclose()
