"""Archives of strangers: what is read, and what refuses the whole archive."""

import gzip
import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.download import archive
from agent.download.archive import ArchivedFile, ArchiveError, archived_files
from agent.download.archive_store import ArchiveStore
from agent.download.disk import open_disk
from playground.charthost import tar_gz

DEEP = "d/" * 80 + "a"


def files_in(folder: Path, content: bytes, *, links: bool = False) -> dict[str, bytes]:
    file = folder / "archive"
    file.write_bytes(content)
    return {one.path: one.content for one in archived_files(file, links=links)}


def tar_of(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as opened:
        for member, content in members:
            opened.addfile(member, io.BytesIO(content))
    return made.getvalue()


def member(
    name: str, *, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = ""
) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, size, target
    return info


@pytest.mark.parametrize("packed", [gzip.compress, bytes, lambda it: gzip.compress(it) + b"\0" * 9])
def test_files_of_a_tar_are_read_packed_or_not(
    tmp_path: Path, packed: Callable[[bytes], bytes]
) -> None:
    plain = tar_of(
        (member("./web", kind=tarfile.DIRTYPE), b""),
        (member("./web/a.yaml", size=2), b"ab"),
        (member("web/" + "d/" * 60 + "b", size=1), b"c"),
    )

    assert files_in(tmp_path, packed(plain)) == {
        "web/a.yaml": b"ab",
        "web/" + "d/" * 60 + "b": b"c",
    }


@pytest.mark.parametrize(
    "name",
    ["../a", "/etc/passwd", "web/../../a", "a//b", "web/./a", "a\\b", "a\nb", "", "x" * 2000, DEEP],
)
def test_a_name_that_leads_out_or_is_none_refuses_the_archive(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArchiveError, match=r"^holds "):
        files_in(tmp_path, tar_of((member(name, size=1), b"x")))


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE]
)
def test_what_is_no_regular_file_refuses_the_archive(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(ArchiveError, match=r"is a link|is no regular file"):
        files_in(tmp_path, tar_of((member("web/a", kind=kind, target="b"), b"")))


@pytest.mark.parametrize("target", ["/etc/passwd", "../../a", "../..", ""])
def test_a_link_that_leads_out_refuses_the_archive_and_one_inside_is_kept(
    tmp_path: Path, target: str
) -> None:
    inside = tar_of((member("web/a", kind=tarfile.SYMTYPE, target="../b"), b""))
    assert files_in(tmp_path, inside, links=True) == {"web/a": b"../b"}
    outside = tar_of((member("web/a", kind=tarfile.SYMTYPE, target=target), b""))
    with pytest.raises(ArchiveError, match="leads out"):
        files_in(tmp_path, outside, links=True)


def test_a_name_that_comes_twice_refuses_the_archive(tmp_path: Path) -> None:
    twice = tar_of((member("web/a", size=1), b"x"), (member("./web/a", size=1), b"y"))
    with pytest.raises(ArchiveError, match="twice"):
        files_in(tmp_path, twice)


def test_a_bomb_is_refused_at_the_limit_whatever_it_is_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "UNPACKED_BYTES", 4 << 20)
    monkeypatch.setattr(archive, "MOST_FILES", 50)
    zeros = gzip.compress(bytes(64 << 20))
    claims = tar_of((member("web/a"), b""))[:512]
    many = tar_of(*((member(f"web/{number}"), b"") for number in range(60)))
    for bomb in (zeros, gzip.compress(gzip.compress(zeros) + bytes(8 << 20)), many):
        with pytest.raises(ArchiveError, match=r"more than the limit|no tar archive"):
            files_in(tmp_path, bomb)
    large = bytearray(claims)
    large[124:136] = b"77777777777\0"
    with pytest.raises(ArchiveError):
        files_in(tmp_path, bytes(large))


@pytest.mark.parametrize("cut", [1, 20, 200])
def test_an_archive_that_is_cut_off_is_refused(tmp_path: Path, cut: int) -> None:
    whole = tar_gz({"web/a": bytes(range(256)) * 64})
    with pytest.raises(ArchiveError, match="cut off"):
        files_in(tmp_path, whole[:-cut])


def test_what_is_no_archive_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="no tar archive"):
        files_in(tmp_path, b"<html>" * 1000)


def test_an_archive_that_fails_leaves_nothing(tmp_path: Path) -> None:
    disk = open_disk(tmp_path)
    store = ArchiveStore(tmp_path / "web", disk)
    with pytest.raises(ArchiveError, match="cannot be kept"):
        store.write("2", "d", [ArchivedFile(path=".git/config", content=b"")])
    assert store.read("2", "d") is None
    assert not list(tmp_path.rglob("*partial*"))
    assert not list(disk.scratch_folder.iterdir())
