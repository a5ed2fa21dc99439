"""The file `.gitmodules`: which repository a submodule is of. Pure.

It is written by whoever may push, so it is read here, as far as it says path and URL, and never
handed to Git, whose reader of configuration includes other files and knows commands. Which commit
belongs there is no matter of this file: the commit that has it says so, by a gitlink.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from bus.repository_url import RepositoryUrl

GIT_MODULES = ".gitmodules"
LARGEST = 64 * 1024
_SECTION = re.compile(r'\[\s*submodule\s+"((?:[^"\\]|\\.)*)"\s*\]\s*(.*)', re.IGNORECASE)
_OTHER_SECTION = re.compile(r"\[[^\]]*\]\s*(.*)")
_ENTRY = re.compile(r"([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")
_ESCAPES = {"n": "\n", "t": "\t", "b": "\b"}


def module_urls(content: str) -> Mapping[str, str]:
    """The URLs by path, as they are written; what cannot be read is passed over, as Git does."""
    found: dict[str, dict[str, str]] = {}
    for name, key, value in _entries(content):
        found.setdefault(name, {})[key] = value
    return {
        path: one["url"]
        for one in found.values()
        if one.get("url") and (path := _path(one.get("path", "")))
    }


def absolute_url(url: str, parent: RepositoryUrl) -> str:
    """The URL of a submodule: `./` and `../` begin at that of its parent. Raises ValueError."""
    if not url.startswith(("./", "../")):
        return url
    root = str(parent).removesuffix(parent.path)
    path = parent.path
    while url.startswith(("./", "../")):
        if url.startswith("../"):
            if not path.strip("/"):
                raise ValueError(f"{url!r} leads above the root of {root}")
            path = posixpath.dirname(path)
        url = url.split("/", 1)[1].lstrip("/")
    return f"{root}{path.rstrip('/')}/{url}"


def _path(written: str) -> str:
    """The path in the form of a tree; empty where it could be none."""
    steps = written.rstrip("/").split("/")
    return "" if any(one in ("", ".", "..") for one in steps) else "/".join(steps)


def _entries(content: str) -> Iterator[tuple[str, str, str]]:
    name = None
    for line in content.replace("\\\n", "").splitlines():
        text = line.strip()
        if section := _SECTION.fullmatch(text):
            name, text = re.sub(r"\\(.)", r"\1", section[1]), section[2]
        elif other := _OTHER_SECTION.fullmatch(text):
            name, text = None, other[1]
        entry = _ENTRY.fullmatch(text)
        if entry and name is not None:
            yield name, entry[1].lower(), _value(entry[2])


def _value(written: str) -> str:
    """A value of Git's configuration: quotes are dropped, and comments outside of them."""
    found, is_quoted, is_escaped = "", False, False
    for character in written:
        if is_escaped:
            found, is_escaped = found + _ESCAPES.get(character, character), False
        elif character == "\\":
            is_escaped = True
        elif character == '"':
            is_quoted = not is_quoted
        elif character in "#;" and not is_quoted:
            break
        else:
            found += character
    return found.strip()
