"""The desired objects of one application by key, hooks apart. Pure.

Compare, decide and step ask for the same few things of each object, one after the other, so they
are worked out once, and once more only for the objects that another artifact has in another form.
The manifests are shared by all readers: nobody changes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import msgspec

from bus.identity import ResourceKey
from handlers.manifest import access
from handlers.manifest.access import Manifest
from handlers.manifest.encryption import without_noted
from handlers.manifest.hooks import is_hook
from handlers.manifest.pods import images
from handlers.manifest.tracking_method import is_asked_of_agent


class DesiredObject(msgspec.Struct, frozen=True):
    """One rendered object, and what all readers ask of it."""

    key: ResourceKey
    manifest: Manifest
    is_hook: bool
    is_annotated: bool
    """Whether an annotation asks the agent for something."""
    images: tuple[str, ...]

    @classmethod
    def of(cls, manifest: Manifest) -> DesiredObject:
        return cls(
            access.key(manifest),
            manifest,
            is_hook(manifest),
            any(map(is_asked_of_agent, access.annotations(manifest))),
            images(without_noted(manifest)),
        )


class DesiredObjects(msgspec.Struct, frozen=True, kw_only=True):
    objects: Mapping[ResourceKey, Manifest]
    """The ordinary objects, which take part in the comparison, in order of their keys."""
    hooks: tuple[Manifest, ...] = ()
    keys: frozenset[ResourceKey] = frozenset()
    """The keys of objects and hooks."""
    annotated: tuple[Manifest, ...] = ()
    """The objects and hooks with an annotation that asks the agent for something."""
    images: frozenset[str] = frozenset()
    """The images of the ordinary objects."""


def joined_objects(found: Iterable[DesiredObject]) -> DesiredObjects:
    """Index objects, which are assembled and stamped; of two with one key the last counts."""
    everything = tuple(found)
    by_key = {one.key: one for one in everything if not one.is_hook}
    objects = {key: by_key[key] for key in sorted(by_key)}
    hooks = tuple(one for one in everything if one.is_hook)
    return DesiredObjects(
        objects={key: one.manifest for key, one in objects.items()},
        hooks=tuple(one.manifest for one in hooks),
        keys=frozenset((*objects, *(one.key for one in hooks))),
        annotated=tuple(one.manifest for one in (*objects.values(), *hooks) if one.is_annotated),
        images=frozenset(name for one in objects.values() for name in one.images),
    )


def desired_of(manifests: Iterable[Manifest]) -> DesiredObjects:
    """Index manifests, which are assembled and stamped."""
    return joined_objects(map(DesiredObject.of, manifests))


def without_excluded(
    desired: DesiredObjects, is_excluded: Callable[[ResourceKey], bool]
) -> tuple[DesiredObjects, tuple[ResourceKey, ...]]:
    """Split off the objects of excluded kinds, and return their keys."""
    excluded = tuple(sorted(filter(is_excluded, desired.keys)))
    if not excluded:
        return desired, ()
    kept = (one for one in desired.objects.items() if not is_excluded(one[0]))
    hooks = (one for one in desired.hooks if not is_excluded(access.key(one)))
    return desired_of((*(one for _, one in kept), *hooks)), excluded
