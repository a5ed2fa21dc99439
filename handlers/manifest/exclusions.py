"""Which kinds the agent does not look at: Argo CD's own list, and the globs of its settings.

Empty lists in a rule match everything. Exclusion wins; no inclusion means all are included.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

import msgspec


class ResourceRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of `resource.exclusions` or `resource.inclusions`."""

    api_groups: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()

    def matches(self, group: str, kind: str, cluster: str) -> bool:
        return (
            _any(self.api_groups, group) and _any(self.kinds, kind) and _any(self.clusters, cluster)
        )


ALWAYS_EXCLUDED = (
    ResourceRule(api_groups=("events.k8s.io", "metrics.k8s.io")),
    ResourceRule(api_groups=("",), kinds=("Event",)),
    ResourceRule(api_groups=("coordination.k8s.io",), kinds=("Lease",)),
)


class ResourceFilter(msgspec.Struct, frozen=True, kw_only=True):
    exclusions: tuple[ResourceRule, ...] = ()
    inclusions: tuple[ResourceRule, ...] = ()

    def excludes(self, group: str, kind: str, cluster: str = "") -> bool:
        """`cluster` is the API server's URL as the destination names it."""
        if _matched((*ALWAYS_EXCLUDED, *self.exclusions), group, kind, cluster):
            return True
        return bool(self.inclusions) and not _matched(self.inclusions, group, kind, cluster)


def _matched(rules: Iterable[ResourceRule], group: str, kind: str, cluster: str) -> bool:
    return any(rule.matches(group, kind, cluster) for rule in rules)


def _any(globs: tuple[str, ...], word: str) -> bool:
    return not globs or any(fnmatchcase(word, glob) for glob in globs)
