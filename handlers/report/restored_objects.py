"""Restored objects: an object that was shown masked and edited gets its values back. Pure.

A person who edits a masked object sends masks back. Each mask is replaced by the live value that it
stands for; a mask that stands for no value is an error, because writing it would destroy a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handlers.report.redaction import Redaction

_SIGN = "(hidden"


class UnknownMaskError(ValueError):
    """A mask where nothing is hidden, or where it is not clear what: `path` says where."""


def restored(edited: Any, live: Any, redaction: Redaction) -> Any:
    """Replace the masks in `edited` by the values of `live`."""
    return _restored(edited, live, redaction.value(live), "")


def _restored(edited: Any, live: Any, shown: Any, path: str) -> Any:
    if edited == shown and live is not None:
        return live
    if isinstance(edited, Mapping):
        return {name: _member(name, value, live, shown, path) for name, value in edited.items()}
    if isinstance(edited, list | tuple):
        return [
            _restored(value, *_entry(number, edited, live, shown), f"{path}[{number}]")
            for number, value in enumerate(edited)
        ]
    if isinstance(edited, str) and _SIGN in edited:
        return _text(edited, live, shown, path)
    return edited


def _member(name: str, value: Any, live: Any, shown: Any, path: str) -> Any:
    inner = live.get(name) if isinstance(live, Mapping) else None
    seen = shown.get(name) if isinstance(shown, Mapping) else None
    return _restored(value, inner, seen, f"{path}.{name}")


def _entry(number: int, edited: Sequence[Any], live: Any, shown: Any) -> tuple[Any, Any]:
    """The live entry that looked like this one, wherever it stood, and how it was shown.

    Of several that look alike and are not, the one of the same place, if none came or went. An
    entry of another name is another entry, wherever it stands.
    """
    if not (isinstance(live, Sequence) and isinstance(shown, Sequence)):
        return None, None
    value = edited[number]
    alike = [place for place, seen in enumerate(shown) if seen == value]
    if alike:
        same = all(live[place] == live[alike[0]] for place in alike)
        if not same and (len(edited) != len(live) or number not in alike):
            return None, None
        place = number if number in alike else alike[0]
        return live[place], shown[place]
    for place, seen in enumerate(shown):
        if _named(seen) and _named(seen) == _named(value):
            return live[place], seen
    if number < len(live) and _named(shown[number]) == _named(value):
        return live[number], shown[number]
    return None, None


def _named(entry: Any) -> str:
    return str(entry.get("name", "")) if isinstance(entry, Mapping) else ""


def _text(edited: str, live: Any, shown: Any, path: str) -> str:
    """A text of several lines with masks in some: each stands for the live line it was made of."""
    if isinstance(live, str) and isinstance(shown, str):
        pairs = list(zip(shown.split("\n"), live.split("\n"), strict=False))
        lines = edited.split("\n")
        if len(shown.split("\n")) == len(live.split("\n")) and len(lines) > 1:
            return "\n".join(_lines(lines, [pair for pair in pairs if _SIGN in pair[0]], path))
    raise _unknown(path)


def _lines(edited: list[str], masked: list[tuple[str, str]], path: str) -> Iterator[str]:
    """All masked lines in their order, or each by itself where only one looked like it."""
    asked = [line for line in edited if _SIGN in line]
    in_order = iter(masked) if asked == [shown for shown, _ in masked] else None
    for line in edited:
        if _SIGN not in line:
            yield line
        elif in_order is not None:
            yield next(in_order)[1]
        else:
            found = {live for shown, live in masked if shown == line}
            if len(found) != 1:
                raise _unknown(path)
            yield found.pop()


def _unknown(path: str) -> UnknownMaskError:
    return UnknownMaskError(f"{path.removeprefix('.')}: a masked value that stands for nothing")
