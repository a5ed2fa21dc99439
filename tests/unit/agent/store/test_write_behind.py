"""Files of a cache: on the disk soon, in order, and at the end in any case."""

from pathlib import Path

import structlog

from agent.store.files import WriteBehind
from tests.support import eventually


async def test_at_the_end_everything_is_on_the_disk(tmp_path: Path) -> None:
    async with WriteBehind() as files:
        for number in range(20):
            await files.write(tmp_path / "in" / str(number), b"%d" % number)
        assert not (tmp_path / "in").exists()

    assert {one.name: one.read_bytes() for one in (tmp_path / "in").iterdir()} == {
        str(number): b"%d" % number for number in range(20)
    }


async def test_nobody_has_to_ask_for_it(tmp_path: Path) -> None:
    async with WriteBehind() as files:
        await files.write(tmp_path / "a", b"1")
        await eventually((tmp_path / "a").exists, what="the file is written")


async def test_the_last_word_about_a_file_counts(tmp_path: Path) -> None:
    async with WriteBehind() as files:
        await files.write(tmp_path / "kept", b"old")
        await files.write(tmp_path / "kept", b"new")
        await files.write(tmp_path / "gone", b"1")
        await files.remove(tmp_path / "gone")
        await files.remove(tmp_path / "never")

    assert (tmp_path / "kept").read_bytes() == b"new"
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]


async def test_what_is_large_is_on_the_disk_when_the_call_returns(tmp_path: Path) -> None:
    async with WriteBehind() as files:
        await files.write(tmp_path / "large", b"x" * 1_000_000)
        assert (tmp_path / "large").stat().st_size == 1_000_000


async def test_a_file_that_cannot_be_written_is_said_and_the_others_are_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_bytes(b"")
    with structlog.testing.capture_logs() as logs:
        async with WriteBehind() as files:
            await files.write(tmp_path / "file" / "below", b"1")
            await files.write(tmp_path / "other", b"2")

    assert (tmp_path / "other").read_bytes() == b"2"
    assert [line["log_level"] for line in logs] == ["warning"]


async def test_only_we_may_read_it_and_no_half_file_is_left(tmp_path: Path) -> None:
    async with WriteBehind() as files:
        await files.write(tmp_path / "a", b"1")

    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o600
    assert not list(tmp_path.glob("*.part"))
