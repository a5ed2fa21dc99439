"""What goes with an Application, in which order, and how its finalizer wants it.

The highest wave goes first, one wave at a time. Kept are objects with `Delete=false` (or Helm's
`keep`), objects that have an owner, and the Application itself where it deploys itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from bus.identity import ResourceKey
from handlers.application.application import RESOURCES_FINALIZER, Application
from handlers.manifest.options import Consent, SyncOptions, sync_options_of
from handlers.manifest.order import wave
from handlers.ports import LiveObject

FINALIZERS = (
    RESOURCES_FINALIZER,
    f"{RESOURCES_FINALIZER}/foreground",
    f"{RESOURCES_FINALIZER}/background",
)


class Cascade(msgspec.Struct, frozen=True, kw_only=True):
    propagation: str
    wave: tuple[LiveObject, ...]
    """The objects whose turn it is, also those that are being deleted already."""


def finalizers_of(app: Application) -> tuple[str, ...]:
    return tuple(one for one in app.metadata.finalizers if one in FINALIZERS)


def cascade(app: Application, lives: Iterable[LiveObject], options: SyncOptions) -> Cascade:
    """An empty wave means that everything is gone."""
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
    return sync_options_of(live.manifest, options).delete is Consent.YES
