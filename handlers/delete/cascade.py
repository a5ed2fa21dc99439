"""The cascade of a deletion: which objects are deleted, in which order. Pure.

The highest wave goes first, one wave at a time. Kept are objects with `Delete=false` (or Helm's
`keep`), objects that have an owner, hooks of the deletion, and the Application itself where it
deploys itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bus.identity import ResourceKey
from handlers.application.application import RESOURCES_FINALIZER, Application
from handlers.application.deletion_approval import approved_since
from handlers.application.deletion_stage import STAGES
from handlers.manifest.hooks import phases_of
from handlers.manifest.options import Consent, SyncOptions, sync_options_of
from handlers.manifest.order import wave
from handlers.ports import LiveObject

FINALIZERS = (
    RESOURCES_FINALIZER,
    f"{RESOURCES_FINALIZER}/foreground",
    f"{RESOURCES_FINALIZER}/background",
)
_DELETION = frozenset(stage.phase for stage in STAGES)


class Cascade(msgspec.Struct, frozen=True, kw_only=True):
    propagation: str
    wave: tuple[LiveObject, ...]
    """The objects to delete now, with those that are being deleted already."""


def finalizers_of(app: Application) -> tuple[str, ...]:
    return tuple(one for one in app.metadata.finalizers if one in FINALIZERS)


def cascade(app: Application, lives: Iterable[LiveObject], options: SyncOptions) -> Cascade:
    """Find the next wave to delete; an empty wave means that everything is gone."""
    going = [(wave(one.manifest), one) for one in lives if _goes(app, one, options)]
    last = max((number for number, _ in going), default=0)
    background = any(one.endswith("/background") for one in app.metadata.finalizers)
    return Cascade(
        propagation="background" if background else "foreground",
        wave=tuple(one for number, one in going if number == last),
    )


def _goes(app: Application, live: LiveObject, options: SyncOptions) -> bool:
    itself = ResourceKey("argoproj.io", "Application", app.key.namespace, app.key.name)
    if live.owners or not live.body or live.key == itself:
        return False
    manifest = live.manifest
    if _DELETION.intersection(phases_of(manifest)):
        return False
    return sync_options_of(manifest, options).delete is not Consent.NO


def unconfirmed(
    app: Application, lives: Iterable[LiveObject], options: SyncOptions
) -> tuple[ResourceKey, ...]:
    """The objects whose deletion a person has yet to approve, after the Application's own."""
    if approved_since(app, app.metadata.deletion_timestamp):
        return ()
    return tuple(
        one.key
        for one in lives
        if _goes(app, one, options)
        and sync_options_of(one.manifest, options).delete is Consent.CONFIRM
    )
