"""The handler of DeleteApp: deletes what an Application deployed, then removes its finalizer.

The highest wave goes first, one wave at a time: its objects are deleted at once, and the next wave
follows when they are gone. Kept are objects with `Delete=false` (or Helm's `keep`), objects that
have an owner, and the Application itself where it deploys itself. Nothing at all is deleted while
an object with `Delete=confirm` waits for a person's approval. Waiting is returning: the watches ask
again when an object has vanished or the approval is there. AppDeleted is published when everything
is gone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from bus.events import AppDeleted, DeleteApp, Event
from bus.identity import ResourceKey
from bus.route import Retry
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import RESOURCES_FINALIZER, Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.deletion_approval import approved_since, remedy
from handlers.application.denials import denials
from handlers.application.destination import IN_CLUSTER_SERVER
from handlers.application.status import Condition, revised
from handlers.comparison.dry_runs import gathered
from handlers.control_plane.governance import Governance, named
from handlers.manifest.exclusions import exclusion
from handlers.manifest.options import Consent, SyncOptions, sync_options_of
from handlers.manifest.order import wave
from handlers.ports import (
    ApplyRefusedError,
    Apps,
    Clock,
    ClusterUnreachableError,
    ClusterWriter,
    LiveObject,
    LiveState,
    Renders,
    StatusWrite,
)
from handlers.sync.operation_results import in_words
from handlers.sync.sync_work import options_of

FINALIZERS = (
    RESOURCES_FINALIZER,
    f"{RESOURCES_FINALIZER}/foreground",
    f"{RESOURCES_FINALIZER}/background",
)


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
    return sync_options_of(live.manifest, options).delete is not Consent.NO


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


_AWAY = 5.0
_REFUSED = 30.0
DELETION_WAITS = "waiting for deletion confirmation of"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteHandler:
    apps: Apps
    live: LiveState
    cluster: ClusterWriter
    renders: Renders
    governance: Governance
    clock: Clock
    settings: Callable[[], ArgoSettings] = ArgoSettings

    async def __call__(self, ask: DeleteApp) -> Sequence[Event]:
        app = self.apps.get(ask.app)
        if app is None or not app.deleting or app.is_skipped:
            return ()
        try:
            if not await self._is_confirmed(app):
                return ()
            while (going := self._next(app)).wave:
                if not await self._delete_wave(app, going):
                    return ()
            await self._retain_denied(app)
            return await self._finish(app)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error

    async def _is_confirmed(self, app: Application) -> bool:
        """Say whether the cascade may go on; where it waits, say in the status for what."""
        waiting = unconfirmed(app, self._permitted(app), options_of(app))
        message = f"{DELETION_WAITS} {in_words(waiting)}; {remedy(app)}" if waiting else ""
        await self._write_condition(app, ConditionType.DELETION_CONFIRMATION_WARNING, message)
        return not waiting

    def _next(self, app: Application) -> Cascade:
        return cascade(app, self._permitted(app), options_of(app))

    def _permitted(self, app: Application) -> tuple[LiveObject, ...]:
        lives = self._lives(app)
        held = self._denied(app, lives)
        return tuple(one for one in lives if one.key not in held)

    def _denied(self, app: Application, lives: Iterable[LiveObject]) -> dict[ResourceKey, str]:
        """The objects it may not remove: by its project as it is now, and by the owner's policy.

        The tracking annotation of an object holds a name, and names come again: without this check
        an Application could delete what another project deployed under the same name before.
        """
        keys = tuple(one.key for one in lives)
        project = self.apps.project(app.spec.project)
        return {**denials(app, project, keys), **self.governance.denials(app, keys)}

    def _lives(self, app: Application) -> tuple[LiveObject, ...]:
        """The objects of the Application, without those of excluded kinds, which are left alone."""
        is_excluded = exclusion(self.settings().resources, IN_CLUSTER_SERVER)
        found = self.live.tracked(app.key) if finalizers_of(app) else ()
        return tuple(one for one in found if not is_excluded(one.key))

    async def _retain_denied(self, app: Application) -> None:
        """Keep the finalizer while denied objects remain: a person decides what becomes of them."""
        lives = self._lives(app)
        whole = cascade(app, lives, options_of(app))
        if whole.wave:
            held = named(self._denied(app, whole.wave))
            text = (
                f"{held}; permit them, delete them, or remove the finalizer"
                f" {finalizers_of(app)[0]} to leave them as they are"
            )
            await self._write_condition(app, ConditionType.DELETION_ERROR, text)
            raise Retry(text, after=_REFUSED)

    async def _delete_wave(self, app: Application, going: Cascade) -> bool:
        """Delete a wave; say whether it is gone already, so that the next may follow at once."""
        staying = [one for one in going.wave if not one.deleting]
        errors = await gathered(self._delete(one, going.propagation) for one in staying)
        for error in errors:
            if isinstance(error, ClusterUnreachableError):
                raise error
            if error is not None:
                await self._write_condition(app, ConditionType.DELETION_ERROR, error.message)
                raise Retry(str(error), after=_REFUSED)
        return all(self.live.get(one.key) is None for one in going.wave)

    async def _delete(
        self, live: LiveObject, propagation: str
    ) -> ApplyRefusedError | ClusterUnreachableError | None:
        try:
            await self.cluster.delete(live, propagation=propagation)
        except (ApplyRefusedError, ClusterUnreachableError) as error:
            return error
        return None

    async def _write_condition(self, app: Application, type_: ConditionType, message: str) -> None:
        """Write the condition, or remove it where there is no message."""
        found = (Condition(type=type_, message=message),) if message else ()
        now = times.written(self.clock.now())
        conditions = revised(app.status.conditions, (type_,), found, now)
        await self.apps.write(app, StatusWrite(status=replace(app.status, conditions=conditions)))

    async def _finish(self, app: Application) -> Sequence[Event]:
        ours = finalizers_of(app)
        await self.renders.forget(app.key)
        if not ours:
            return ()
        await self.apps.write(app, StatusWrite(status=app.status, remove_finalizers=ours))
        pruned = len(app.status.resources)
        return (AppDeleted(app=app.key, project=app.spec.project, pruned=pruned),)
