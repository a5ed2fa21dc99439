"""The index of a Helm repository: the versions of one chart, read line by line.

An index may have 50 MB and the versions of hundreds of charts, so it is never held as a document.
It is written by programs, in the block style of YAML: `entries:`, below it a key for each chart,
below that an item for each version, whose keys are read here where they stand on a line of their
own. One that is written as JSON is decoded by its types. Anything else is refused as a whole, and
an item of which something cannot be read for certain is kept out and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import msgspec

MOST_VERSIONS = 200_000
LONGEST_LINE = 64 * 1024
MOST_LINES = 3_000_000
LONGEST_JSON = 8 * 1024 * 1024
MOST_JSON_VALUES = 500_000
LARGEST_ITEM = 1024 * 1024
LONGEST_VERSION = 256
LONGEST_URL = 2048
LONGEST_DIGEST = 128
_VERSION = re.compile(r"v?\d+(\.\d+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")
_READ = ("version", "digest", "urls")


class ChartIndexError(ValueError):
    """The index cannot be read; the message says why."""


class ChartVersion(msgspec.Struct, frozen=True):
    version: str
    url: str = ""
    """Where the archive is, as it is written; empty where that cannot be read."""
    digest: str = ""
    """The sha256 of the archive, in hexadecimal digits; empty where none is named."""


class _JsonEntry(msgspec.Struct, frozen=True):
    version: str = ""
    urls: tuple[str, ...] | None = ()
    digest: str = ""


class _JsonIndex(msgspec.Struct, frozen=True):
    entries: dict[str, tuple[_JsonEntry, ...] | None] = {}


def versions_of(index: Path, chart: str) -> tuple[ChartVersion, ...]:
    """List a chart's versions in the order of the index. Blocking. Raises ChartIndexError."""
    known: dict[str, ChartVersion] = {}
    with index.open("rb") as file:
        is_json = file.read(64).lstrip().startswith(b"{")
        file.seek(0)
        for one in _of_json(index, chart) if is_json else _of_yaml(_lines(file), chart):
            if len(one.version) <= LONGEST_VERSION and _VERSION.fullmatch(one.version):
                known.setdefault(one.version, _within_limits(one))
            if len(known) > MOST_VERSIONS:
                text = f"its index has more than {MOST_VERSIONS} versions of the chart"
                raise ChartIndexError(text)
    return tuple(known.values())


def _within_limits(one: ChartVersion) -> ChartVersion:
    """Leave out a URL or a digest that nobody writes: a version without is refused when it is read.

    A digest that is too long is cut, not left out: what is verified against it fails.
    """
    url = one.url if len(one.url) <= LONGEST_URL and one.url.isascii() else ""
    return ChartVersion(one.version, url, one.digest[:LONGEST_DIGEST])


def _of_json(index: Path, chart: str) -> Iterator[ChartVersion]:
    if index.stat().st_size > LONGEST_JSON:
        raise ChartIndexError(f"its index is JSON of more than {LONGEST_JSON} bytes")
    content = index.read_bytes()
    if content.count(b",") + content.count(b"{") > MOST_JSON_VALUES:  # before they are made
        raise ChartIndexError(f"its index is JSON of more than {MOST_JSON_VALUES} values")
    try:
        entries = msgspec.json.decode(content, type=_JsonIndex).entries
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ChartIndexError(f"its index cannot be read ({error})") from error
    for one in entries.get(chart) or ():
        url = one.urls[0] if one.urls else ""
        yield ChartVersion(version=one.version, url=url, digest=one.digest)


def _lines(file: IO[bytes]) -> Iterator[str]:
    """Read lines without what YAML ignores, each within a limit."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if number > MOST_LINES:
            raise ChartIndexError(f"its index has more than {MOST_LINES} lines")
        if not line.endswith(b"\n") and len(line) == LONGEST_LINE:
            _skip_rest(file)
        text = line.decode("utf-8-sig", errors="replace").rstrip()
        if text and not text.lstrip().startswith("#") and text not in ("---", "..."):
            yield text


def _skip_rest(file: IO[bytes]) -> None:
    while line := file.readline(LONGEST_LINE):
        if line.endswith(b"\n"):
            return


def _of_yaml(lines: Iterator[str], chart: str) -> Iterator[ChartVersion]:
    _seek_entries(lines)
    indent: int | None = None
    item: list[str] = []
    size = 0
    is_wanted = False
    for line in lines:
        depth = _depth(line)
        if depth == 0 and not line.startswith("- "):
            break
        indent = depth if indent is None else indent
        if depth <= indent and not line.lstrip().startswith("-"):
            if is_wanted:
                break
            is_wanted = _split(line)[0] == chart
            continue
        if not is_wanted:
            continue
        if line.lstrip().startswith("- ") and (not item or depth == _depth(item[0])):
            yield from _version(item)
            item, size = [], 0
        item.append(line)
        size += len(line)
        if size > LARGEST_ITEM:
            raise ChartIndexError(f"its index has a version of more than {LARGEST_ITEM} bytes")
    yield from _version(item)


def _seek_entries(lines: Iterator[str]) -> None:
    for line in lines:
        key, value = _split(line)
        if key == "entries" and not _depth(line):
            if value.partition("#")[0].strip() not in ("", "{}"):
                raise ChartIndexError("its index is written in a style of YAML that is not read")
            return
    raise ChartIndexError("its index has no entries: it is no index of a Helm repository")


def _version(item: list[str]) -> Iterator[ChartVersion]:
    """Read one item, `- key: value` and the keys below it."""
    if not item:
        return
    dash = _depth(item[0])
    lines = [item[0].replace("-", " ", 1), *item[1:]]
    level = _depth(lines[0])
    if level <= dash:
        return
    read: dict[str, str] = {}
    key = ""
    for line in lines:
        if _depth(line) == level and not line.lstrip().startswith("- "):
            key, value = _split(line)
            if key in _READ and key not in read:
                read[key] = _scalar(value) or ""
        elif key == "urls" and line.lstrip().startswith("- ") and not read["urls"]:
            read["urls"] = _scalar(line.lstrip()[2:]) or ""
        elif key in ("version", "digest"):
            read[key] = ""  # goes on over several lines, which no program writes
    if read.get("version"):
        yield ChartVersion(read["version"], read.get("urls", ""), read.get("digest", ""))


def _split(line: str) -> tuple[str, str]:
    """Split `key: value`; both are empty where the line is anything else."""
    text = line.strip()
    if text[:1] in ("'", '"'):
        end = text.find(text[0], 1)
        key, value = text[: end + 1], text[end + 1 :].lstrip()
        return (_scalar(key) or "", value[1:].strip()) if value.startswith(":") else ("", "")
    key, colon, value = text.partition(": ")
    if not colon:
        key, colon = text.removesuffix(":"), ":" if text.endswith(":") else ""
    return (_scalar(key) or "", value.strip()) if colon else ("", "")


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _scalar(text: str) -> str | None:
    """Read a scalar of one line; None where it is anything else."""
    text = text.strip()
    if text.startswith('"'):
        return _double_quoted(text)
    if text.startswith("'"):
        found = re.fullmatch(r"'((?:[^']|'')*)'(?:\s+#.*)?", text)
        return found[1].replace("''", "'") if found else None
    if text[:1] in ("[", "{", "&", "*", "!", "|", ">", "%", "@", "`"):
        return None
    return re.split(r"\s#", text, maxsplit=1)[0].strip()


def _double_quoted(text: str) -> str | None:
    found = re.match(r'"(?:[^"\\]|\\.)*"', text)
    if found is None:
        return None
    try:
        return str(json.loads(found[0]))
    except ValueError:
        return None
