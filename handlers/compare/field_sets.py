"""Set arithmetic over field sets as the API server writes them (FieldsV1).

A field set is a tree of tokens: `f:name`, `k:{...}` (entry of a list), `v:...` (member of a set)
and `.` (the thing itself). `{}` below a token means the same as `{".": {}}`; a token without `.`
holds only what is below it. The root has no `.`: there an empty tree is the empty set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Fields = Mapping[str, Any]

ITSELF: Final = "."
_ALONE: Final[Fields] = {ITSELF: {}}


def union(one: Fields, other: Fields) -> dict[str, Any]:
    """The fields that are in either set."""
    joined = dict(one)
    for token, below in other.items():
        if token not in joined:
            joined[token] = below
        elif token != ITSELF:
            joined[token] = _short(union(_long(joined[token]), _long(below)))
    return joined


def difference(one: Fields, other: Fields) -> dict[str, Any]:
    """The fields of `one` that are not in `other`."""
    left: dict[str, Any] = {}
    for token, below in one.items():
        if token not in other:
            left[token] = below
        elif token != ITSELF and (rest := difference(_long(below), _long(other[token]))):
            left[token] = _short(rest)
    return left


def intersection(one: Fields, other: Fields) -> dict[str, Any]:
    """The fields that are in both sets."""
    return difference(one, difference(one, other))


def _long(below: Fields) -> Fields:
    return below or _ALONE


def _short(below: dict[str, Any]) -> dict[str, Any]:
    return {} if below == _ALONE else below
