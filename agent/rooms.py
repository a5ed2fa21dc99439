"""The rooms, furnished: every port of the house plan gets the part that plays it."""

from __future__ import annotations

from agent.clock import SystemClock
from agent.observe.git import CountedGit
from agent.parts import Parts
from handlers.command.handler import RefreshThis, SyncNow, Terminate
from handlers.compare.handler import Compare
from handlers.delete.handler import Delete
from handlers.health.handler import Assess
from handlers.refresh.handler import Refresh
from handlers.render.evaluate.handler import Evaluate
from handlers.render.handler import Render
from handlers.routes import Rooms
from handlers.sync.apply.handler import Applier
from handlers.sync.begin.handler import Begin
from handlers.sync.handler import Abandon, Decide
from handlers.sync.step.handler import Step


def open_rooms(parts: Parts) -> Rooms:
    apps, live, clock = parts.applications, parts.live, SystemClock()
    git = CountedGit(parts.mirrors, parts.metrics)
    renders, cluster = parts.renders, parts.cluster
    artifacts, worlds = parts.artifacts, parts.worlds
    begin = Begin(apps=apps, worlds=worlds, git=git, clock=clock)
    governance = parts.governance
    applier = Applier(cluster=cluster, live=live, governance=governance)
    render = Render(
        apps=apps,
        git=git,
        evaluate=evaluate_of(parts),
        artifacts=artifacts,
        renders=renders,
        clock=clock,
    )
    refresh = Refresh(
        apps=apps, git=git, commits=parts.mirrors, renders=renders, refs=parts.refs, clock=clock
    )
    return Rooms(
        refresh=refresh,
        render=render,
        compare=Compare(apps=apps, worlds=worlds),
        decide=Decide(apps=apps, worlds=worlds, clock=clock),
        step=Step(apps=apps, worlds=worlds, begin=begin, applier=applier, clock=clock),
        assess=Assess(apps=apps, live=live, clock=clock),
        abandon=Abandon(apps=apps, renders=parts.renders, clock=clock),
        delete=Delete(
            apps=apps,
            live=live,
            cluster=cluster,
            renders=renders,
            governance=governance,
            clock=clock,
            settings=lambda: parts.argo_settings.now,
        ),
        sync_now=SyncNow(apps=apps),
        refresh_this=RefreshThis(apps=apps),
        terminate=Terminate(apps=apps),
    )


def evaluate_of(parts: Parts) -> Evaluate:
    """Rendering without a memory: for the render room, and for those who only want to see."""
    return Evaluate(
        renderer=parts.sandbox, live=parts.live, control_namespace=parts.settings.namespace
    )
