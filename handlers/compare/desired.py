"""What Git wants of one application, read once: ordinary objects by their keys, and hooks. Pure.

Every room that decides about the application asks for the same few things of each object, so they
are worked out together. The manifests are shared by whoever reads: nobody changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from bus.identity import ResourceKey
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.hooks import is_hook


class Desired(msgspec.Struct, frozen=True, kw_only=True):
    wanted: Mapping[ResourceKey, Manifest]
    """What takes part in the comparison."""
    hooks: tuple[Manifest, ...] = ()
    keys: frozenset[ResourceKey] = frozenset()
    """Of both."""


def without_excluded(
    desired: Desired, is_excluded: Callable[[ResourceKey], bool]
) -> tuple[Desired, tuple[ResourceKey, ...]]:
    """The desired objects without those of excluded kinds, and the keys of these."""
    excluded = tuple(sorted(filter(is_excluded, desired.keys)))
    if not excluded:
        return desired, ()
    out = frozenset(excluded)
    kept = Desired(
        wanted={key: one for key, one in desired.wanted.items() if key not in out},
        hooks=tuple(one for one in desired.hooks if access.key(one) not in out),
        keys=desired.keys - out,
    )
    return kept, excluded


def desired_of(manifests: Iterable[Manifest]) -> Desired:
    """`manifests`: assembled and stamped."""
    wanted: dict[ResourceKey, Manifest] = {}
    hooks: list[Manifest] = []
    for manifest in manifests:
        if is_hook(manifest):
            hooks.append(manifest)
        else:
            wanted[access.key(manifest)] = manifest
    keys = frozenset((*wanted, *map(access.key, hooks)))
    return Desired(wanted=wanted, hooks=tuple(hooks), keys=keys)
