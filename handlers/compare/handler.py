"""Compare: ManifestsRendered, CompareApp -> Compared. Nothing is written here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bus.events import CompareApp, Compared, Event, ManifestsRendered, RefreshApp
from bus.verdicts import Retry
from handlers.application.application import Application
from handlers.compare.details import NAMED, details
from handlers.compare.world import State, World
from handlers.compare.worlds.handler import Worlds
from handlers.ports import Apps, ClusterUnreachableError

_AWAY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compare:
    apps: Apps
    worlds: Worlds

    async def __call__(self, event: ManifestsRendered | CompareApp) -> Sequence[Event]:
        app = self.apps.get(event.app)
        if app is None or app.deleting:
            return ()
        try:
            world = await self.worlds.read(app)
        except ClusterUnreachableError as error:
            raise Retry(str(error), after=_AWAY) from error
        if world is None:
            return (RefreshApp(app=app.key),)
        return (_fact(app, world),)


def _fact(app: Application, world: World) -> Compared:
    drifted = world.of(State.CHANGED, State.MISSING, State.EXTRA)
    return Compared(
        app=app.key,
        project=app.spec.project,
        status=world.status,
        revision=world.record.revision,
        digest=world.record.digest,
        changed=len(world.of(State.CHANGED)),
        missing=len(world.of(State.MISSING)),
        extra=len(world.of(State.EXTRA)),
        drifted=tuple(str(one.key) for one in drifted[:NAMED]),
        details=details(drifted),
    )
