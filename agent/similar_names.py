"""Names that a person may have meant, chosen in one pass over names that strangers wrote. Pure.

difflib compares two long texts for minutes. Here a name is similar by the characters at its begin
and end, which costs no more than reading it.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

LONGEST_NAME = 128
"""Of a name that is shown, or compared."""
_COMPARED = 1000
_SHOWN = 5


def similar_names(wanted: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return up to five of the first thousand names: similar ones, or any where none is."""
    compared = [name for name in names[:_COMPARED] if len(name) <= LONGEST_NAME]
    wanted = wanted[: 2 * LONGEST_NAME]
    alike = {name: _alike(wanted, name) for name in compared}
    best = nlargest(_SHOWN, alike, key=alike.__getitem__)
    return tuple(name for name in best if alike[name] > 0) or tuple(compared[:_SHOWN])


def _alike(wanted: str, name: str) -> float:
    """Return which part of both texts is their common begin and end, from 0 to 1."""
    begin = _common(wanted, name)
    end = _common(wanted[begin:][::-1], name[begin:][::-1])
    return 2 * (begin + end) / ((len(wanted) + len(name)) or 1)


def _common(one: str, other: str) -> int:
    """Count the characters at the begin that are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
