"""Excluded kinds: Argo CD's own list, and the rules of its settings. Pure.

Groups and clusters are globs, kinds are exact or `*`. An empty list in a rule matches everything.
Exclusion wins; where an inclusion concerns the cluster, everything that none includes is excluded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cache

import msgspec

from bus.identity import ResourceKey


class ResourceRule(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """One entry of `resource.exclusions` or `resource.inclusions`."""

    api_groups: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    clusters: tuple[str, ...] = ()

    def matches(self, group: str, kind: str) -> bool:
        return _any(self.api_groups, group) and (
            not self.kinds or bool({kind, "*"} & {*self.kinds})
        )

    def concerns(self, cluster: str) -> bool:
        return _any(self.clusters, cluster)


ALWAYS_EXCLUDED = (
    ResourceRule(api_groups=("events.k8s.io", "metrics.k8s.io")),
    ResourceRule(api_groups=("",), kinds=("Event",)),
    ResourceRule(api_groups=("coordination.k8s.io",), kinds=("Lease",)),
)


class ResourceFilter(msgspec.Struct, frozen=True, kw_only=True):
    """The exclusions and inclusions of one installation."""

    exclusions: tuple[ResourceRule, ...] = ()
    inclusions: tuple[ResourceRule, ...] = ()

    def excludes(self, group: str, kind: str, cluster: str = "") -> bool:
        """`cluster` is the API server's URL as the destination names it."""
        excluded = (one for one in (*ALWAYS_EXCLUDED, *self.exclusions) if one.concerns(cluster))
        if any(rule.matches(group, kind) for rule in excluded):
            return True
        included = [one for one in self.inclusions if one.concerns(cluster)]
        return bool(included) and not _matched(included, group, kind)


def exclusion(resources: ResourceFilter, cluster: str) -> Callable[[ResourceKey], bool]:
    """Return a predicate for excluded objects, which looks each kind up once."""

    @cache
    def excludes(group: str, kind: str) -> bool:
        return resources.excludes(group, kind, cluster)

    return lambda key: excludes(key.group, key.kind)


def _matched(rules: Iterable[ResourceRule], group: str, kind: str) -> bool:
    return any(rule.matches(group, kind) for rule in rules)


def _any(globs: tuple[str, ...], word: str) -> bool:
    return not globs or any(fnmatchcase(word, glob) for glob in globs)
