"""Builds the documentation site: `python -m deploy.docs_site`, which is `make docs-site`.

The pages are those that are read in the repository, copied to build/docs-site and changed in two
ways: a link that leaves docs/ leads to the file in the repository, and a folder in the navigation
of mkdocs.yml stands for all its pages. Zensical then builds them strictly: a broken link fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any

import yaml

_ROOT = Path(__file__).parents[1]
_STAGED = _ROOT / "build/docs-site"
_SITE = _ROOT / "site"
_LINK = re.compile(r"(\]\()(\.\./[^)\s]+)(\))")


class OmittedPageError(Exception):
    """A page of docs/ is in no part of the navigation."""


def main() -> int:
    """Stage the pages and build them; the exit code is the builder's."""
    config = yaml.safe_load((_ROOT / "mkdocs.yml").read_text())
    shutil.rmtree(_STAGED, ignore_errors=True)
    shutil.copytree(_ROOT / "docs", _STAGED / "docs")
    for page in (_STAGED / "docs").rglob("*.md"):
        source = page.relative_to(_STAGED).as_posix()
        page.write_text(with_outward_links(page.read_text(), source, config["extra"]["repository"]))
    config["nav"] = navigation(config["nav"], _STAGED / "docs")
    (_STAGED / "mkdocs.yml").write_text(yaml.safe_dump(config))
    builder = str(Path(sys.executable).with_name("zensical"))
    command = (builder, "build", "--strict", "--clean")
    code = subprocess.run(command, cwd=_STAGED, check=False).returncode
    if code == 0:
        shutil.rmtree(_SITE, ignore_errors=True)
        (_STAGED / config["site_dir"]).rename(_SITE)
    return code


def with_outward_links(markdown: str, source: str, repository: str) -> str:
    """Lead links that leave docs/ to the repository; `source`: the page's path, with docs/."""
    folder = PurePosixPath(source).parent

    def outward(match: re.Match[str]) -> str:
        path = normpath(str(folder / match[2]))
        inside = path.startswith("docs/")
        return match[0] if inside else f"{match[1]}{repository}/blob/main/{path}{match[3]}"

    return _LINK.sub(outward, markdown)


def navigation(entries: list[Any], docs: Path) -> list[Any]:
    """Replace folders by their pages; raises OmittedPageError where a page is nowhere."""
    entries = [_with_pages(entry, docs) for entry in entries]
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    if omitted := sorted(pages - set(_paths(entries))):
        raise OmittedPageError(f"mkdocs.yml: the navigation leaves out {', '.join(omitted)}")
    return entries


def _with_pages(entry: Any, docs: Path) -> Any:
    if isinstance(entry, dict):
        return {title: _with_pages(value, docs) for title, value in entry.items()}
    if isinstance(entry, list):
        return [_with_pages(one, docs) for one in entry]
    if not entry.endswith("/"):
        return entry
    pages = sorted((docs / entry).glob("*.md"), key=lambda page: (page.name != "README.md", page))
    return [f"{entry}{page.name}" for page in pages]


def _paths(entry: Any) -> list[str]:
    if isinstance(entry, str):
        return [entry]
    values = entry.values() if isinstance(entry, dict) else entry
    return [path for value in values for path in _paths(value)]


if __name__ == "__main__":
    sys.exit(main())
