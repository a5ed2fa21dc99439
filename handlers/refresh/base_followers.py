"""Base followers: the Applications whose render used a remote base, as followers of it. Pure.

They are grouped as those of sources are, so that a push to the repository of a base goes the same
way as one to the repository of a source.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet

from bus.identity import AppKey
from handlers.ports import ApplicationLookup, SourceFollowers, SourceGroup
from handlers.ports.remote_base import RemoteBase


def base_followers(
    users: Mapping[RemoteBase, AbstractSet[AppKey]], apps: ApplicationLookup
) -> Iterator[SourceFollowers]:
    """Group the users of each base; those that are gone or being deleted follow nothing."""
    for base, keys in users.items():
        groups = defaultdict[SourceGroup, set[AppKey]](set)
        for key in keys:
            app = apps.get(key)
            if app is not None and not app.deleting:
                group = SourceGroup(
                    base.repository, app.spec.project, base.ref, app.metadata.namespace
                )
                groups[group].add(key)
        yield from (SourceFollowers(group, found) for group, found in groups.items())
