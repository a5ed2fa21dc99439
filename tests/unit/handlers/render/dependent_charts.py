"""Charts that depend on others, and their locks, as Helm writes them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

import pytest

from agent.clock import SystemClock
from agent.renderer.renderer import SandboxRenderer
from bus.repository_url import RepositoryUrl
from handlers.application.application import AppProject
from handlers.ports import ApplicationLookup, RepositoryAccess
from handlers.ports.chart_dependency import DependencyRecord
from handlers.ports.rendering import FetchedSources, Recipe, RenderError, RenderResult
from handlers.render.chart_dependencies import ChartDependencies, Charts
from sandbox.client import Sandbox
from tests.unit.agent.download.reader import SourceReading
from tests.unit.agent.renderer.recipe_samples import helm, objects
from tests.unit.agent.renderer.written_tree import WrittenTree
from tests.unit.handlers.application.builders import project

Wanted = tuple[str, str, str]
"""Name, version and repository."""


def chart_yaml(*wanted: Wanted, name: str = "web") -> str:
    return f"apiVersion: v2\nname: {name}\nversion: 1.0.0\ndependencies: {_list(wanted)}\n"


def chart_lock(wanted: Sequence[Wanted], locked: Sequence[Wanted]) -> str:
    hashed = json.dumps([_dependencies(wanted), _dependencies(locked)], separators=(",", ":"))
    digest = hashlib.sha256(hashed.encode()).hexdigest()
    return (
        f"dependencies: {_list(locked)}\n"
        f"digest: sha256:{digest}\n"
        'generated: "2026-01-01T00:00:00Z"\n'
    )


def _list(wanted: Sequence[Wanted]) -> str:
    return json.dumps(_dependencies(wanted))


def _dependencies(wanted: Sequence[Wanted]) -> list[dict[str, str]]:
    return [
        {"name": name, "version": version, "repository": repository}
        for name, version, repository in wanted
    ]


@dataclass
class ProjectLookup:
    """The project of every Application."""

    found: AppProject = field(default_factory=project)

    def project(self, _name: str) -> AppProject:
        return self.found


@dataclass
class BeginClock:
    """The time at which the test began: no look is ever too old."""

    begin: datetime = field(default_factory=SystemClock().now)

    def now(self) -> datetime:
        return self.begin


@dataclass(kw_only=True)
class DependentCharts:
    """Renders a chart `chart/` with what it depends on."""

    sandbox: Sandbox
    reader: SourceReading
    projects: ProjectLookup = field(default_factory=ProjectLookup)
    clock: BeginClock = field(default_factory=BeginClock)
    seconds: float = 120.0
    own: str = "http://127.0.0.1/web"
    """The repository of the chart."""

    @property
    def dependencies(self) -> ChartDependencies:
        return ChartDependencies(
            sources=self.reader.sources,
            apps=cast("ApplicationLookup", self.projects),
            clock=self.clock,
            seconds=self.seconds,
            look_seconds=self.seconds,
        )

    async def rendered(
        self, files: dict[str, str], recipe: Recipe | None = None
    ) -> tuple[RenderResult, tuple[DependencyRecord, ...]]:
        tree = WrittenTree(files)

        async def render(charts: Charts) -> RenderResult:
            return await SandboxRenderer(self.sandbox).render(
                recipe or helm(), tree, fetched=FetchedSources(charts=charts), project="shop"
            )

        user = RepositoryAccess(RepositoryUrl.parse(self.own))
        return await self.dependencies.completed(render, "shop", user=user)

    async def versions(self, *wanted: Wanted, lock: str = "") -> list[str]:
        files = {"chart/Chart.yaml": chart_yaml(*wanted)}
        rendered, _ = await self.rendered(files | ({"chart/Chart.lock": lock} if lock else {}))
        return [one["data"]["version"] for one in objects(rendered)]

    async def refusal(self, *wanted: Wanted, lock: str = "") -> RenderError:
        with pytest.raises(RenderError) as caught:
            await self.versions(*wanted, lock=lock)
        return caught.value
