"""The target revision that is asked for of a source: `targetRevision` with its `tagPrefix`. Pure.

Both are one text, so that whatever is kept by target revision keeps components apart that share a
repository and have their tags by prefix:

    targetRevision  tagPrefix   asked for     means
    ^1.2            web-        web-:^1.2     the highest of the tags that begin with web-
    1.2.3           web-        web-1.2.3     the tag of this name
    main            web-        main          the branch: a prefix is one of tags

No ref of Git has a colon, so a range with a prefix is never taken for a ref.
"""

from __future__ import annotations

import re

from handlers.application.source_address import is_versioned
from handlers.application.spec import Source
from handlers.application.version_range import is_pin, may_be_range

_MARK = ":"
_LONGEST_PREFIX = 200
_NO_PREFIX = re.compile(r"[\x00-\x20\x7f~^:?*\[\\]|\.\.|@\{|//|/\.|^[-/.]")
"""What no name of a tag may hold, or begin with (git-check-ref-format)."""


def asked_revision(source: Source, named: str = "") -> str:
    """The target revision of a source, or the one that an operation names in its place."""
    target = named or source.target_revision
    if not source.tag_prefix or is_versioned(source):
        return target
    if may_be_range(target):
        return f"{source.tag_prefix}{_MARK}{target}"
    return source.tag_prefix + target if is_pin(target) else target


def prefix_and_range(target: str) -> tuple[str, str]:
    """The prefix of a range among tags and the range; of any other target revision no prefix."""
    prefix, mark, rest = target.partition(_MARK)
    return (prefix, rest) if mark and may_be_range(rest) else ("", target)


def tag_prefix_problem(prefix: str) -> str:
    """Why no tag can begin with a prefix; empty where one can."""
    if len(prefix) > _LONGEST_PREFIX:
        return f"has {len(prefix)} characters; at most {_LONGEST_PREFIX} are possible"
    if _NO_PREFIX.search(prefix):
        return f"is {prefix!r}, with which no name of a tag begins; expected one such as `web-`"
    return ""
