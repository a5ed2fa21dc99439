"""Values that are spelled in several ways: quantities and durations of Kubernetes. Pure.

`1000m` is `1`, `0.5` is `500m`, `1Gi` is `1073741824`; and `1h` is `60m0s`.
"""

from __future__ import annotations

import re
from decimal import Decimal

from handlers.application import times

_FORM = re.compile(
    r"([+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40}))(?:([eE][+-]?\d{1,2})|([KMGTPE]i|[numkMGTPE]))?"
)
_SUFFIXES = {
    "n": Decimal(10) ** -9,
    "u": Decimal(10) ** -6,
    "m": Decimal(10) ** -3,
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "P": Decimal(10) ** 15,
    "E": Decimal(10) ** 18,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
    "Pi": Decimal(2) ** 50,
    "Ei": Decimal(2) ** 60,
}


def quantity(written: object) -> Decimal | None:
    """The number that is meant; None where it is no quantity."""
    if isinstance(written, bool) or not isinstance(written, str | int | float):
        return None
    match = _FORM.fullmatch(str(written))
    if match is None:
        return None
    digits, exponent, suffix = match.groups()
    return Decimal(digits + (exponent or "")) * _SUFFIXES.get(suffix or "", Decimal(1))


def same_quantity(one: object, other: object) -> bool:
    left, right = quantity(one), quantity(other)
    return left is not None and left == right


_LONGEST_DURATION = 40


def same_duration(one: object, other: object) -> bool:
    """Whether two texts are the same duration, as Go writes it."""
    left, right = _seconds(one), _seconds(other)
    return left is not None and left == right


def _seconds(written: object) -> float | None:
    """Read `1h30m` in seconds; a bare number is no duration but zero."""
    if not isinstance(written, str) or len(written) > _LONGEST_DURATION:
        return None
    if written.isdecimal() and written != "0":
        return None
    try:
        return times.seconds(written)
    except ValueError:
        return None
