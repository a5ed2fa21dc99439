"""Restore: an object that was shown masked, edited and sent back, with what the masks stand for.

Whoever edits what he saw sends masks where he saw masks. Each is replaced by the live value that it
stands for; a mask that stands for nothing is an error, because writing it would destroy a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from handlers.report.redaction import Redaction

_SIGN = "(hidden"


class UnknownMaskError(ValueError):
    """A mask where nothing is hidden: `path` says where."""


def restored(wanted: Any, live: Any, redaction: Redaction) -> Any:
    """`wanted` with the values of `live` behind its masks."""
    return _restored(wanted, live, redaction.value(live), "")


def _restored(wanted: Any, live: Any, shown: Any, path: str) -> Any:
    if wanted == shown and live is not None:
        return live
    if isinstance(wanted, Mapping):
        return {name: _member(name, value, live, shown, path) for name, value in wanted.items()}
    if isinstance(wanted, list | tuple):
        return [
            _entry(number, value, live, shown, f"{path}[{number}]")
            for number, value in enumerate(wanted)
        ]
    if isinstance(wanted, str) and _SIGN in wanted:
        raise UnknownMaskError(f"{path.removeprefix('.')}: a masked value that stands for nothing")
    return wanted


def _member(name: str, value: Any, live: Any, shown: Any, path: str) -> Any:
    inner = live.get(name) if isinstance(live, Mapping) else None
    seen = shown.get(name) if isinstance(shown, Mapping) else None
    return _restored(value, inner, seen, f"{path}.{name}")


def _entry(number: int, value: Any, live: Any, shown: Any, path: str) -> Any:
    """The entry that looked like this, wherever it stood; else the one of the same place."""
    if not (isinstance(live, Sequence) and isinstance(shown, Sequence)):
        return _restored(value, None, None, path)
    for place, seen in enumerate(shown):
        if seen == value or (_named(seen) and _named(seen) == _named(value)):
            return _restored(value, live[place], seen, path)
    if number < len(live):
        return _restored(value, live[number], shown[number], path)
    return _restored(value, None, None, path)


def _named(entry: Any) -> str:
    return str(entry.get("name", "")) if isinstance(entry, Mapping) else ""
