"""Nesting of what the API server sends: JSON that is nested too deeply is cut, or refused. Pure.

Nothing in Kubernetes bounds the depth of a field whose schema is open, e.g. the values of a chart
in an Application, while every decoder here ends at some depth of its own: msgspec with a
RecursionError, orjson with refusals at 1024 levels when reading and at 254 when writing. One object
must not end the watch of its kind. So each answer is bounded before it is decoded.
"""

from __future__ import annotations

import re

MOST_LEVELS = 200
"""Of one object; twice what a comparison of desired and live state looks at."""
CUT = f"left out: nested deeper than {MOST_LEVELS} levels"
"""Stands for a value that was cut."""

_NO_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]')
_MARK = b'"' + CUT.encode() + b'"'


def bounded(raw: bytes, *, around: int = 0) -> bytes:
    """Return `raw` with every value below the deepest level cut; `raw` itself where none is.

    `around`: the levels of `raw` around an object, e.g. those of a list.
    """
    most = MOST_LEVELS + around
    return raw if _is_shallow(raw, most) else _cut(raw, most)


def is_nested_too_deeply(raw: bytes) -> bool:
    """Tell whether `bounded` would cut `raw`, which holds one object."""
    return bounded(raw) is not raw


def was_cut(raw: bytes) -> bool:
    """Tell whether `raw` holds a value that `bounded` cut."""
    return _MARK in raw


def _is_shallow(raw: bytes, most: int) -> bool:
    """Tell fast that `raw` is shallow; False where that is not certain.

    Each round removes the innermost pairs of brackets, so that the rounds count the levels.
    Brackets in texts can only be too many: where they leave something over, the slow way decides.
    """
    if raw.count(b"{") + raw.count(b"[") <= most:
        return True
    brackets = raw.translate(None, _NO_BRACKETS)
    for _ in range(most):
        rest = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if not rest:
            return True
        if len(rest) == len(brackets):
            return False
        brackets = rest
    return False


def _cut(raw: bytes, most: int) -> bytes:
    """Copy `raw`, with `CUT` for each object and array that opens below level `most`."""
    kept: list[bytes] = []
    depth = done = 0
    for token in _TOKEN.finditer(raw):
        match raw[token.start() : token.start() + 1]:
            case b"{" | b"[":
                depth += 1
                if depth == most + 1:
                    kept += (raw[done : token.start()], _MARK)
            case b"}" | b"]":
                if depth == most + 1:
                    done = token.end()
                depth -= 1
            case _:
                pass
    if not kept:
        return raw
    return b"".join((*kept, raw[done:]))
