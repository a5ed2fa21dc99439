"""Version ranges: which target revisions may be one. Pure.

A text that is a version by itself (`1.2.3`, `v1`, `1.2`) is a pin and never a range; a commit id is
neither. Everything else that begins as a range of Masterminds' semver does may be one; whether it
is, its parser in the sandbox says. A branch of the name `1.x` looks like a range, as in Argo CD: it
is the branch only where no tag matches.
"""

from __future__ import annotations

import re

LONGEST_RANGE = 256
_PIN = re.compile(
    r"v?\d+(?:\.\d+){0,2}(?:-[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?"
)
_BEGIN_OF_RANGE = re.compile(r"[\s,|]*(?:[=!<>~^]|v?(?:\d|[xX*](?![A-Za-z0-9_/])))")
_COMMIT = re.compile(r"[0-9a-f]{40}")


def is_pin(target: str) -> bool:
    return _PIN.fullmatch(target) is not None and not _COMMIT.fullmatch(target)


def may_be_range(target: str) -> bool:
    """Whether it is worth asking for the range's versions; false for every pin."""
    if len(target) > LONGEST_RANGE or is_pin(target) or _COMMIT.fullmatch(target):
        return False
    return _BEGIN_OF_RANGE.match(target) is not None
