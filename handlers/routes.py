"""The routing table: which handler takes which event. Read this page first.

The agent is a set of handlers around a message bus (NATS JetStream). A handler is an async
callable: it takes one typed event, reads the state that the event is about, decides, acts, and
returns the events that follow. It never calls another handler; this table alone connects them.
Three kinds of events travel on the bus (`bus/events`): an *ask* ("look at this again"; equal asks
that wait are merged), a *command* ("do this", never merged) and a *fact* ("this happened").

Follow a Git push until its objects run in the cluster:

    push or poll -> RefreshRepository   refresh   fetch; which Applications does a commit touch?
                 -> RefreshApp          render    Git revision to manifests, in the sandbox
                 -> ManifestsRendered   compare   manifests beside the live objects
                 -> Compared            decide    sync by itself, or why not
                 -> StepOperation       step      apply one wave after the other
                 -> ResourcesApplied    assess    health; asks for the next step

Each row names its *lane*, a serial queue by key. All events of one Application share one lane, so
no two handlers ever work on the same Application at once; different Applications run in parallel.
Delivery is at least once: a handler that is called twice with the same event finds its work done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bus.events import (
    AssessApp,
    CompareApp,
    Compared,
    DeleteApp,
    HydrateBranch,
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
from handlers.command import (
    RefreshCommandHandler,
    SyncCommandHandler,
    TerminateCommandHandler,
)
from handlers.compare import CompareHandler
from handlers.delete.handler import DeleteHandler
from handlers.health.handler import AssessHandler
from handlers.hydrate.handler import HYDRATE_SECONDS, HydrateHandler
from handlers.refresh.handler import RefreshHandler
from handlers.render.evaluator import RENDER_SECONDS
from handlers.render.handler import RenderHandler
from handlers.sync.handler import DecideHandler, FailOnRenderErrorHandler
from handlers.sync.step import StepHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Every handler of the agent, ready to be called: `agent/wiring.py` builds them."""

    refresh: RefreshHandler
    """Fetches a repository and asks for the Applications that its new commit touches."""
    hydrate: HydrateHandler
    """Commits the manifests of a dry source to the branch that is deployed."""
    render: RenderHandler
    """Renders the manifests of an Application, unless the last render still holds."""
    compare: CompareHandler
    """Compares the manifests with the live objects and says what differs; writes nothing."""
    decide: DecideHandler
    """Starts an automated sync, or writes into the status why there is none."""
    step: StepHandler
    """Carries the operation under way as far as it goes without waiting."""
    assess: AssessHandler
    """Sums up the health of an Application; wakes an operation that waits for health."""
    fail_on_render_error: FailOnRenderErrorHandler
    """Ends an operation whose manifests cannot be rendered."""
    delete: DeleteHandler
    """Deletes an Application: PreDelete hooks, objects by waves, PostDelete hooks, finalizers."""
    sync_command: SyncCommandHandler
    """Writes the sync that a person or the service orders into the Application."""
    refresh_command: RefreshCommandHandler
    """Refreshes one Application because somebody asked for it."""
    terminate_command: TerminateCommandHandler
    """Marks the operation under way as terminating."""


def routes(handlers: Handlers) -> tuple[Route, ...]:
    """Build the rows of the table; see `bus.route.Route` for the columns.

    `name` is the name of the durable consumer on the bus, and of the handler in logs and metrics.
    `continues` marks events that continue work which was begun: they are served before new work.
    Timeouts are in seconds; without one the default of `Route` holds.
    """
    h, app, repo = handlers, _application_lane, _repository_lane
    return (
        # A push becomes live objects.
        Route(name="refresh", event=RefreshRepository, handler=h.refresh, lane=repo, timeout=300),
        Route(name="render", event=RefreshApp, handler=h.render, lane=app, timeout=RENDER_SECONDS),
        Route(name="compare", event=ManifestsRendered, handler=h.compare, lane=app, continues=True),
        Route(name="decide", event=Compared, handler=h.decide, lane=app, continues=True),
        Route(
            name="step", event=StepOperation, handler=h.step, lane=app, timeout=300, continues=True
        ),
        Route(name="assess", event=ResourcesApplied, handler=h.assess, lane=app, continues=True),
        # Applications with a hydrator: a push becomes a commit of manifests, which is a push too.
        Route(
            name="hydrate",
            event=HydrateBranch,
            handler=h.hydrate,
            lane=_branch_lane,
            timeout=HYDRATE_SECONDS,
        ),
        # A live object changed: the watches of the cluster ask.
        Route(name="compare-live", event=CompareApp, handler=h.compare, lane=app),
        Route(name="assess-live", event=AssessApp, handler=h.assess, lane=app),
        # An Application cannot be rendered, or is being deleted.
        Route(
            name="abandon",
            event=RenderFailed,
            handler=h.fail_on_render_error,
            lane=app,
            continues=True,
        ),
        Route(name="delete", event=DeleteApp, handler=h.delete, lane=app, timeout=300),
        # A person or the service gives a command.
        Route(name="sync", event=SyncApp, handler=h.sync_command, lane=app),
        Route(name="refresh-now", event=RefreshNow, handler=h.refresh_command, lane=app),
        Route(name="terminate", event=TerminateOperation, handler=h.terminate_command, lane=app),
    )


def _application_lane(event: Any) -> str:
    """The lane of an event about one Application."""
    return f"app:{event.app}"


def _branch_lane(event: HydrateBranch) -> str:
    """The lane of a hydrated branch: one commit to it at a time."""
    return f"hydrate:{event.branch}"


def _repository_lane(event: RefreshRepository) -> str:
    """The lane of a repository: one fetch of it at a time."""
    return f"repo:{event.repository}"
