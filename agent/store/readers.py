"""Who read which path of a repository: an inverted index over read sets (see readset.py).

The answer to "who may be touched by these changed files" is never too small. It can be too large:
a folder's key says that the folder is there, and is found by every change below it; who wants to
know exactly asks `holds`.

What was absent needs one more key: `a/b` that was not there appears when `a` becomes a link. So an
absent path is also found under `a//`, "something absent lies below a".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from bus.identity import AppKey
from handlers.render.readset import keys_touched

_ROOT = ""
"""The root folder is always there; its listing (`/`) is another key."""


class Readers:
    """The readers of one repository."""

    def __init__(self) -> None:
        self._apps: dict[str, set[AppKey]] = {}

    def add(self, app: AppKey, read_set: Mapping[str, str]) -> None:
        for key in _keys(read_set):
            self._apps.setdefault(key, set()).add(app)

    def remove(self, app: AppKey, read_set: Mapping[str, str]) -> None:
        for key in _keys(read_set):
            apps = self._apps.get(key)
            if apps is None:
                continue
            apps.discard(app)
            if not apps:
                del self._apps[key]

    def of(self, paths: Iterable[str]) -> frozenset[AppKey]:
        keys = {key for path in paths for key in (*keys_touched(path), f"{path}//")}
        return frozenset().union(*(self._apps[key] for key in keys if key in self._apps))


def _keys(read_set: Mapping[str, str]) -> Iterator[str]:
    for key, seen in read_set.items():
        if key == _ROOT:
            continue
        yield key
        if not seen:
            yield from _above(key)


def _above(path: str) -> Iterator[str]:
    parts = path.split("/")
    for length in range(1, len(parts)):
        yield "/".join(parts[:length]) + "//"
