"""The headers of tar files: what programs write is read, and what could do harm is refused."""

import gzip
import io
import tarfile
import tracemalloc
from collections.abc import Iterable
from pathlib import Path

import pytest

from agent.download.archive import ArchiveError, archived_files
from agent.download.tar_headers import (
    LONGEST_RECORD,
    TarHeaderError,
    TarKind,
    TarMember,
    tar_members,
)
from tests.unit.agent.download.test_archive import files_in, member, tar_of

LONG = "web/" + "ä" * 150 + "/" + "n" * 90
FILE = member("web/a", size=2)
END = bytes(1024)


def members_of(content: bytes) -> list[tuple[TarMember, bytes]]:
    file = io.BytesIO(content)
    return [(one, file.read(one.size)) for one in tar_members(file)]


def header(kind: bytes, body: bytes, claimed: int | None = None) -> bytes:
    info = member("header", kind=kind, size=len(body) if claimed is None else claimed)
    return info.tobuf(tarfile.USTAR_FORMAT) + body + bytes(-len(body) % 512)


def record(key: str, value: str) -> bytes:
    rest = f" {key}={value}\n".encode()
    length = next(n for n in range(len(rest), len(rest) + 9) if len(str(n)) + len(rest) == n)
    return b"%d%s" % (length, rest)


def records(*pairs: tuple[str, str]) -> bytes:
    return b"".join(record(key, value) for key, value in pairs)


def file(info: tarfile.TarInfo, content: bytes = b"") -> bytes:
    return info.tobuf(tarfile.USTAR_FORMAT) + content + bytes(-len(content) % 512)


@pytest.mark.parametrize(
    "form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT], ids="ugp"
)
def test_what_every_form_of_tar_says_is_read(form: int) -> None:
    names = ["web/a", "d/" * 60 + "b"] + ([] if form == tarfile.USTAR_FORMAT else [LONG])
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as opened:
        opened.addfile(member("web", kind=tarfile.DIRTYPE))
        for name in names:
            opened.addfile(member(name, size=600), io.BytesIO(b"x" * 600))
            opened.addfile(member(name + "l", kind=tarfile.SYMTYPE, target=name[:90]))

    read = members_of(made.getvalue())

    expected = [TarMember(name="web/", kind=TarKind.FOLDER, size=0)]
    for name in names:
        expected.append(TarMember(name=name, kind=TarKind.FILE, size=600))
        link = TarMember(name=name + "l", kind=TarKind.SYMBOLIC_LINK, size=0, target=name[:90])
        expected.append(link)
    assert [one for one, _ in read] == expected
    assert {content for one, content in read if one.kind is TarKind.FILE} == {b"x" * 600}


def test_a_pax_header_holds_for_its_member_only_and_gits_comment_for_none() -> None:
    pax = records(("mtime", "1.5"), ("path", "web/long"), ("size", "3"))
    content = header(b"g", record("comment", "0" * 40)) + header(b"x", pax)
    content += file(member("x", size=1), b"abc") + file(FILE, b"de") + END

    read = members_of(content)

    assert [(one.name, text) for one, text in read] == [("web/long", b"abc"), ("web/a", b"de")]


def test_a_size_of_base_256_and_a_folder_as_before_posix_are_read() -> None:
    big = bytearray(member("web/", size=0).tobuf(tarfile.USTAR_FORMAT))
    big[124:136] = b"\x80" + bytes(11)
    big[148:156] = b" " * 8
    big[148:156] = b"%06o\0 " % sum(big)

    assert members_of(bytes(big) + END) == [
        (TarMember(name="web/", kind=TarKind.FOLDER, size=0), b"")
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (header(b"g", record("path", "web/evil")), "for all files says 'path'"),
        (header(b"g", records(*((f"k{n}", "") for n in range(3000)))), "for all files says 'k0'"),
        (header(b"x", records(("GNU.sparse.major", "1"))), "sparse"),
        (header(b"x", records(("GNU.sparse.map", "0,1"))), "sparse"),
        (header(b"x", b"", LONGEST_RECORD + 1), "more than 65536 bytes in a header"),
        (header(b"L", b"", 200 << 20), "more than 65536 bytes in a header"),
        (header(b"x", b"x" * 60_000) * 400, "record that cannot be read"),
        (header(b"L", b"n" * 60_000) * 400, "too many of them"),
        (header(b"x", b"0 a=b\n"), "record that cannot be read"),
        (header(b"x", b"-1 a=b\n"), "record that cannot be read"),
        (header(b"x", b"99 a=b\n"), "record that cannot be read"),
        (header(b"x", b"6 ab=\n\n"), "record that cannot be read"),
        (header(b"x", record("size", "-5")) + file(FILE), "the size '-5'"),
        (header(b"x", record("size", "1_0")) + file(FILE), "the size '1_0'"),
        (header(b"x", record("size", "9" * 19)) + file(FILE), "no size that can be"),
        (header(b"x", record("path", "a"))[:700], "cut off"),
        (file(FILE, b"ab")[:100], "cut off in a header"),
        (header(b"x", record("path", "a")), "cut off behind a header"),
        (file(FILE).replace(b"web/a", b"web/b"), "wrong checksum"),
        (file(member("\udcff")), "not UTF-8"),
        (b"", "is empty"),
    ],
)
def test_a_header_that_could_do_harm_or_is_none_is_refused(content: bytes, message: str) -> None:
    with pytest.raises(TarHeaderError, match=message):
        members_of(content)


@pytest.mark.parametrize("kind", [b"S", b"X", b"V", b"3", b"6", b"?"])
def test_a_member_of_another_kind_refuses_the_archive(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(ArchiveError, match="is no regular file"):
        files_in(tmp_path, header(kind, b"") + END)


def sparse(entries: int) -> bytes:
    """Make a file that claims a map of many holes, as GNU tar's form 1.0 has it."""
    pairs = {"major": "1", "minor": "0", "name": "c/x", "realsize": "1"}
    body = records(*((f"GNU.sparse.{key}", value) for key, value in pairs.items()))
    holes = b"%d\n" % entries + b"1\n" * (2 * entries)
    return header(b"x", body) + file(member("c/x", size=len(holes)), holes)


def copied(members: int) -> bytes:
    """Make a global header that a careless reader copies into each member."""
    body = records(*((f"k{number}", "") for number in range(5000)))
    return header(b"g", body) + b"".join(file(member(f"c/{n}")) for n in range(members))


@pytest.mark.parametrize("content", [sparse(500_000), copied(500)], ids=["sparse", "global"])
def test_a_small_archive_cannot_take_much_memory(tmp_path: Path, content: bytes) -> None:
    packed = tmp_path / "archive"
    packed.write_bytes(gzip.compress(content + END))
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError):
            exhaust(archived_files(packed))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def exhaust(many: Iterable[object]) -> None:
    for _ in many:
        pass


def test_an_archive_of_many_folders_or_gzip_pieces_is_refused(tmp_path: Path) -> None:
    deep = (member(f"{number}/" + "d/" * 60 + "a") for number in range(500))
    with pytest.raises(ArchiveError, match="more than the limit of 20000 folders"):
        files_in(tmp_path, tar_of(*((one, b"") for one in deep)))
    with pytest.raises(ArchiveError, match="more than the limit of 100000 pieces"):
        files_in(tmp_path, gzip.compress(b"") * 100_001)
