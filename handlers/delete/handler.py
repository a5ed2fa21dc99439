"""DeleteApp -> AppDeleted, when everything that the Application deployed is gone.

One wave a call; the objects of a wave are deleted at once. Waiting is returning: the index asks
again when an object has vanished.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from bus.events import AppDeleted, DeleteApp, Event
from bus.status import ConditionType
from bus.verdicts import Retry
from handlers.application import times
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.conditions import revised
from handlers.application.destination import IN_CLUSTER_SERVER
from handlers.application.status import Condition
from handlers.compare.worlds.handler import gathered
from handlers.control_plane.governance import Governance, named
from handlers.delete.cascade import Cascade, cascade, finalizers_of
from handlers.manifest.exclusions import exclusion
from handlers.ports import (
    ApplyRefusedError,
    Apps,
    Clock,
    Cluster,
    ClusterUnreachableError,
    LiveObject,
    LiveState,
    Renders,
    StatusWrite,
)
from handlers.sync.tasks import options_of

_AWAY = 5.0
_REFUSED = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete:
    apps: Apps
    live: LiveState
    cluster: Cluster
    renders: Renders
    governance: Governance
    clock: Clock
    settings: Callable[[], ArgoSettings] = ArgoSettings

    async def __call__(self, ask: DeleteApp) -> Sequence[Event]:
        app = self.apps.get(ask.app)
        if app is None or not app.deleting:
            return ()
        try:
            while (going := self._next(app)).wave:
                if not await self._take_away(app, going):
                    return ()
            await self._hold(app)
            return await self._let_go(app)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error

    def _next(self, app: Application) -> Cascade:
        lives = self._lives(app)
        held = self.governance.denials(app, (one.key for one in lives))
        return cascade(app, (one for one in lives if one.key not in held), options_of(app))

    def _lives(self, app: Application) -> tuple[LiveObject, ...]:
        """Its objects, but for those of kinds that the settings exclude: they are left alone."""
        is_excluded = exclusion(self.settings().resources, IN_CLUSTER_SERVER)
        found = self.live.tracked(app.key) if finalizers_of(app) else ()
        return tuple(one for one in found if not is_excluded(one.key))

    async def _hold(self, app: Application) -> None:
        """Objects that it may not remove are neither removed nor forgotten: a person decides."""
        lives = self._lives(app)
        whole = cascade(app, lives, options_of(app))
        if whole.wave:
            held = named(self.governance.denials(app, (one.key for one in whole.wave)))
            text = (
                f"{held}; permit them, delete them, or remove the finalizer"
                f" {finalizers_of(app)[0]} to leave them as they are"
            )
            await self._tell(app, text)
            raise Retry(text, after=_REFUSED)

    async def _take_away(self, app: Application, going: Cascade) -> bool:
        """Whether the whole wave is gone already, so that the next may follow at once."""
        staying = [one for one in going.wave if not one.deleting]
        said = await gathered(self._delete(one, going.propagation) for one in staying)
        for error in said:
            if isinstance(error, ClusterUnreachableError):
                raise error
            if error is not None:
                await self._tell(app, error.message)
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

    async def _tell(self, app: Application, message: str) -> None:
        type_ = ConditionType.DELETION_ERROR
        found = Condition(type=type_, message=message)
        now = times.written(self.clock.now())
        conditions = revised(app.status.conditions, (type_,), (found,), now)
        await self.apps.write(app, StatusWrite(status=replace(app.status, conditions=conditions)))

    async def _let_go(self, app: Application) -> Sequence[Event]:
        ours = finalizers_of(app)
        await self.renders.forget(app.key)
        if not ours:
            return ()
        await self.apps.write(app, StatusWrite(status=app.status, remove_finalizers=ours))
        pruned = len(app.status.resources)
        return (AppDeleted(app=app.key, project=app.spec.project, pruned=pruned),)
