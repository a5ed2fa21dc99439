"""The house plan: every way an event goes, in reading order.

Follow a push. The front door asks for its repository; `refresh` finds the applications it touches,
`render` makes their manifests, `compare` holds them beside the cluster, `decide` says whether to
sync, `step` applies one wave after the other, `assess` tells when a wave is healthy. Each room says
only what happened, and this table alone knows who listens.

Whatever is about one application shares one lane, so no two rooms work on it at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bus.events import (
    AssessApp,
    CompareApp,
    Compared,
    DeleteApp,
    ManifestsRendered,
    RefreshApp,
    RefreshNow,
    RefreshRepository,
    RenderFailed,
    ResourcesApplied,
    StepOperation,
    SyncApp,
    TerminateOperation,
)
from bus.route import Route
from handlers.command.handler import RefreshThis, SyncNow, Terminate
from handlers.compare.handler import Compare
from handlers.delete.handler import Delete
from handlers.health.handler import Assess
from handlers.refresh.handler import Refresh
from handlers.render.evaluate.handler import RENDER_SECONDS
from handlers.render.handler import Render
from handlers.sync.handler import Abandon, Decide
from handlers.sync.step.handler import Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Rooms:
    """Every room, furnished with its ports."""

    refresh: Refresh
    render: Render
    compare: Compare
    decide: Decide
    step: Step
    assess: Assess
    abandon: Abandon
    delete: Delete
    sync_now: SyncNow
    refresh_this: RefreshThis
    terminate: Terminate


def house_plan(rooms: Rooms) -> tuple[Route, ...]:
    r, app, repo = rooms, _of_app, _of_repository
    return (
        # a push becomes live objects
        Route(name="refresh", event=RefreshRepository, room=r.refresh, lane=repo, timeout=300),
        Route(name="render", event=RefreshApp, room=r.render, lane=app, timeout=RENDER_SECONDS),
        Route(name="compare", event=ManifestsRendered, room=r.compare, lane=app, goes_on=True),
        Route(name="decide", event=Compared, room=r.decide, lane=app, goes_on=True),
        Route(name="step", event=StepOperation, room=r.step, lane=app, timeout=300, goes_on=True),
        Route(name="assess", event=ResourcesApplied, room=r.assess, lane=app, goes_on=True),
        # the cluster changes
        Route(name="compare-live", event=CompareApp, room=r.compare, lane=app),
        Route(name="assess-live", event=AssessApp, room=r.assess, lane=app),
        # something cannot be deployed, or shall go
        Route(name="abandon", event=RenderFailed, room=r.abandon, lane=app, goes_on=True),
        Route(name="delete", event=DeleteApp, room=r.delete, lane=app, timeout=300),
        # a person or the service wants something
        Route(name="sync", event=SyncApp, room=r.sync_now, lane=app),
        Route(name="refresh-now", event=RefreshNow, room=r.refresh_this, lane=app),
        Route(name="terminate", event=TerminateOperation, room=r.terminate, lane=app),
    )


def _of_app(event: Any) -> str:
    return f"app:{event.app}"


def _of_repository(event: RefreshRepository) -> str:
    return f"repo:{event.repository}"
