"""The handler of hydrated branches is built of the opened adapters: of those that write, too."""

from __future__ import annotations

from dataclasses import replace

from agent.clock import SystemClock
from agent.dependencies import AgentDependencies
from agent.git.fetched_commits import FetchedCommits
from agent.observe.counted_sources import CountedSources
from handlers.hydrate.branch_render import BranchRenderer
from handlers.hydrate.dry_renderer import DryRenderer
from handlers.hydrate.handler import HydrateHandler
from handlers.render.evaluator import Evaluator
from handlers.render.recipes import ClusterVersions

_OF_NO_CLUSTER = ClusterVersions("")


def hydrate_handler(
    parts: AgentDependencies, sources: CountedSources, evaluate: Evaluator, clock: SystemClock
) -> HydrateHandler:
    dry = replace(evaluate, versions=_OF_NO_CLUSTER)
    return HydrateHandler(
        apps=parts.applications,
        sources=sources,
        render=BranchRenderer(
            render=DryRenderer(sources=sources, prover=parts.prover, evaluate=dry),
            commits=FetchedCommits(parts.mirrors),
        ),
        branches=parts.branches,
        clock=clock,
        is_governed=parts.governance.governs,
        asks_of_push=parts.parts_of_repositories.of_push,
        settings=lambda: parts.argo_settings.now.hydrator,
    )
