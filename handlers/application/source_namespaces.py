"""Source namespaces: where Applications are followed besides the control namespace. Pure.

`application.namespaces` of `argocd-cmd-params-cm` is a list with commas; `sourceNamespaces` of an
AppProject says which of them may use the project. A pattern is a glob, or a regular expression
between slashes that may match anywhere, as in Argo CD. One that is malformed matches nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from handlers.application.address_pattern import matches

KEY = "application.namespaces"
_LONGEST = 256
_MOST = 256
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class SourceNamespaces(msgspec.Struct, frozen=True, kw_only=True):
    patterns: tuple[str, ...] = ()

    def follows(self, namespace: str) -> bool:
        return any(namespace_matches(one, namespace) for one in self.patterns)

    @property
    def names(self) -> tuple[str, ...] | None:
        """The namespaces, where every pattern is the name of one; None where any is a pattern."""
        return self.patterns if all(map(_NAME.fullmatch, self.patterns)) else None


def read_source_namespaces(written: str) -> tuple[SourceNamespaces, tuple[str, ...]]:
    """Read the setting, and name the patterns that match nothing because they are malformed."""
    words = tuple(dict.fromkeys(filter(None, (one.strip() for one in written.split(",")))))
    wrong = tuple(one for one in words if _is_expression(one) and _compiled(one) is None)
    kept = tuple(one for one in words if one not in wrong)[:_MOST]
    return SourceNamespaces(patterns=kept), wrong


def namespace_matches(pattern: str, namespace: str) -> bool:
    if not _is_expression(pattern):
        return matches(pattern, namespace)
    compiled = _compiled(pattern)
    return compiled is not None and compiled.search(namespace) is not None


def _is_expression(pattern: str) -> bool:
    return len(pattern) > 1 and pattern.startswith("/") and pattern.endswith("/")


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    if len(pattern) > _LONGEST:
        return None
    try:
        return re.compile(pattern[1:-1], re.ASCII)
    except re.error:
        return None
