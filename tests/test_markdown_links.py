"""Links between Markdown pages lead somewhere: the file is there, and so is the heading."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.paths import REPOSITORY

_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,}).*?^(?P=mark)\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?P<ticks>`+)(?:(?!(?P=ticks)).)+(?P=ticks)")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)|(?:href|src|srcset)=\"([^\"\s]+)")
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)
_ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:")


def pages() -> tuple[str, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=REPOSITORY,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return tuple(sorted(name for name in listed.split("\0") if name))


def links(page: Path) -> Iterator[str]:
    """Targets inside the repository; what stands in code is no link."""
    prose = _CODE.sub("", _FENCE.sub("", page.read_text("utf-8")))
    for match in _LINK.finditer(prose):
        target = match[1] or match[2]
        if not _ELSEWHERE.match(target):
            yield unquote(target)


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of a page's headings, as the Git host makes them."""
    text = _FENCE.sub("", page.read_text("utf-8"))
    seen: dict[str, int] = {}
    found = set()
    for heading in _HEADING.findall(text):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        found.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return frozenset(found)


def problem(page: Path, target: str) -> str:
    """What is wrong with a link, or nothing."""
    path, _, anchor = target.partition("#")
    there = (page.parent / path).resolve() if path else page
    if not there.is_relative_to(REPOSITORY):
        return f"{target}: leaves the repository"
    if not there.exists():
        return f"{target}: there is no such file"
    if anchor and there.suffix == ".md" and anchor not in anchors(there):
        return f"{target}: the page has no such heading"
    return ""


@pytest.mark.parametrize("name", pages())
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    page = REPOSITORY / name
    assert not [found for target in links(page) if (found := problem(page, target))]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("[x](there.md)", []),
        ("[x](there.md#two-words)", []),
        ("[x](there.md#the-ui-of-gitops)", []),
        ("[x](there.md#two-words-1)", []),
        ("[x](#here)", []),
        ("`[x](nowhere.md)`\n\n```\n[y](nowhere.md)\n```", []),
        ("[x](https://example.org/nowhere)", []),
        ("[x](nowhere.md)", ["nowhere.md: there is no such file"]),
        ("[x](there.md#no)", ["there.md#no: the page has no such heading"]),
        ('<img src="no.png">', ["no.png: there is no such file"]),
        ("[x](/etc/hosts)", ["/etc/hosts: leaves the repository"]),
    ],
)
def test_a_link_that_leads_nowhere_is_found(
    text: str, wrong: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.test_markdown_links.REPOSITORY", tmp_path)
    headings = "# There\n## Two words\n## Two words\n## The UI, of `gitops`\n"
    (tmp_path / "there.md").write_text(headings)
    page = tmp_path / "page.md"
    page.write_text(f"# Here\n\n{text}\n")
    assert [found for target in links(page) if (found := problem(page, target))] == wrong
