"""The path of a request to an API server: it leads to the object that it names, and nowhere else.

Names reach a path from people, tasks and Git. A URL is read again on its way: dots are taken out,
also escaped ones and those around a tab, and what follows a question mark is no path.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from handlers.ports import ApplyRefusedError

_SIGNS = frozenset("?#\\ ")
_DOTS = frozenset((".", ".."))
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST_NAME = 253


def is_object_name(name: str) -> bool:
    """Whether it is a DNS subdomain, as the names of most kinds have to be: so it has one form."""
    return len(name) <= _LONGEST_NAME and bool(_NAME.fullmatch(name))


def check_path(path: str) -> None:
    """Raise ApplyRefusedError where a name in the path would lead to another object."""
    names = {unquote(part) for part in path.split("/")}
    is_plain = path.isascii() and path.isprintable() and _SIGNS.isdisjoint(path)
    if is_plain and _DOTS.isdisjoint(names) and not any("/" in it or "%" in it for it in names):
        return
    text = (
        f"{path!r} names no object of Kubernetes: no name is '.' or '..', or has a slash, a space"
        " or one of % ? # \\ in it; correct the name or namespace"
    )
    raise ApplyRefusedError(text, code=422)
