"""The index of a Helm repository, as the programs of this field write it and as nobody should."""

from pathlib import Path

import pytest

from agent.helm import index
from agent.helm.index import (
    LONGEST_JSON,
    MOST_VERSIONS,
    ChartIndexError,
    ChartVersion,
    versions_of,
)

HELM = """apiVersion: v1
entries:
  other:
  - version: 9.9.9
    urls: [https://evil.example/other.tgz]
  web:
  - annotations:
      version: "0.0.1"
      notes: |
        - version: 7.7.7
          urls:
          - https://evil.example/notes.tgz
    apiVersion: v2
    description: 'it''s a chart: of the web'
    digest: aa11
    urls:
    - https://charts.example/web-1.10.0.tgz
    - https://mirror.example/web-1.10.0.tgz
    version: 1.10.0 # the newest
  - digest: "bb22"
    urls:
    - web-v1.9.0.tgz
    version: "v1.9.0"
  - version: not-a-version
    urls:
    - web-x.tgz
  zebra:
  - version: 8.0.0
generated: "2026-01-01T00:00:00Z"
"""
JACKSON = """---
apiVersion: "v1"
entries:
    "web":
    -   name: "web"
        urls:
        -   "https://charts.example/web-1.10.0.tgz"
        version: "1.10.0"
        digest: "aa11"
"""
JSON = """{"apiVersion": "v1", "entries": {"web": [{"version": "1.10.0", "digest": "aa11",
 "urls": ["https://charts.example/web-1.10.0.tgz"], "home": null}], "empty": null}}"""
NEWEST = ChartVersion("1.10.0", "https://charts.example/web-1.10.0.tgz", "aa11")


def versions(folder: Path, text: str, chart: str = "web") -> tuple[ChartVersion, ...]:
    file = folder / "index.yaml"
    file.write_text(text)
    return versions_of(file, chart)


def test_an_index_of_helm_is_read_for_one_chart(tmp_path: Path) -> None:
    assert versions(tmp_path, HELM) == (NEWEST, ChartVersion("v1.9.0", "web-v1.9.0.tgz", "bb22"))


@pytest.mark.parametrize("text", [JACKSON, JSON], ids=["jackson", "json"])
def test_an_index_of_another_program_is_read_the_same(tmp_path: Path, text: str) -> None:
    assert versions(tmp_path, text) == (NEWEST,)


@pytest.mark.parametrize("text", [HELM, JACKSON, JSON, "entries: {}\n", "entries:\n"])
def test_a_chart_that_is_not_there_has_no_versions(tmp_path: Path, text: str) -> None:
    assert versions(tmp_path, text, "absent") == ()


@pytest.mark.parametrize(
    "text",
    [
        "<html>not found</html>",
        "",
        "entries: &all\n  web: *all\n",
        '{"entries": {"web": [{"version": 1}]}}',
        '{"entries": ' + '{"a":' * 50_000,
    ],
    ids=["page", "empty", "anchors", "types", "nesting"],
)
def test_what_is_no_index_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ChartIndexError, match="its index"):
        versions(tmp_path, text)


def test_a_url_that_cannot_be_read_for_certain_is_left_empty(tmp_path: Path) -> None:
    text = "entries:\n  web:\n  - version: 1.0.0\n    urls: [a, b]\n    digest: &d aa\n"

    assert versions(tmp_path, text) == (ChartVersion("1.0.0"),)


def test_long_lines_and_large_items_are_bounded(tmp_path: Path) -> None:
    long = "entries:\n  web:\n  - version: 1.0.0\n    description: " + "x " * 500_000 + "\n"
    assert versions(tmp_path, long) == (ChartVersion("1.0.0"),)
    large = "entries:\n  web:\n  - version: 1.0.0\n" + f"    {'x' * 1000}: y\n" * 5000
    with pytest.raises(ChartIndexError, match="a version of more than"):
        versions(tmp_path, large)


def test_a_hundred_thousand_versions_are_read_and_more_than_the_limit_are_refused(
    tmp_path: Path,
) -> None:
    head = "entries:\n  web:\n"
    items = "".join(f"  - version: 1.{number}.0\n" for number in range(100_000))
    assert len(versions(tmp_path, head + items)) == 100_000
    more = "".join(f"  - version: 2.{number}.0\n" for number in range(MOST_VERSIONS - 99_999))
    with pytest.raises(ChartIndexError, match="more than 200000 versions"):
        versions(tmp_path, head + items + more)


@pytest.mark.parametrize(
    ("url", "digest"), [("a" * 2049, "aa"), ("https://charts.example/ä" + "😀" * 99, "aa")]
)
def test_long_values_of_a_version_are_not_kept(tmp_path: Path, url: str, digest: str) -> None:
    text = f"entries:\n  web:\n  - version: 1.0.0\n    urls:\n    - {url}\n    digest: {digest}\n"
    text += f"  - version: 1.0.0-{'a' * 256}\n  - version: 1.0.1\n    digest: {'b' * 4000}\n"

    assert versions(tmp_path, text) == (
        ChartVersion("1.0.0", "", "aa"),
        ChartVersion("1.0.1", "", "b" * 128),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"entries":{"web":[' + "{}," * 600_000 + "{}]}}", "JSON of more than 500000 values"),
        ('{"entries":{}}' + " " * LONGEST_JSON, "JSON of more than 8388608 bytes"),
        ("entries:\n" + "#\n" * 1000, "more than 1000 lines"),
    ],
    ids=["values", "bytes", "lines"],
)
def test_an_index_that_would_take_memory_or_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.setattr(index, "MOST_LINES", 1000)
    with pytest.raises(ChartIndexError, match=message):
        versions(tmp_path, text)
