"""The handlers and the bridge are built of the opened adapters: each is given what it uses."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from agent.bridge.bridge import Bridge
from agent.bridge.cluster_state import ClusterState
from agent.bridge.reporting.components import ComponentStates
from agent.bridge.task_wiring import TaskSources
from agent.bridge.tasks.executors.desired_state import DesiredState
from agent.clock import SystemClock
from agent.dependencies import AgentDependencies
from agent.hydrate_wiring import hydrate_handler
from agent.observe.counted_sources import CountedSources
from agent.renderer.plugin_renderer import PluginRenderer
from agent.renderer.renderer import SandboxRenderer
from handlers.application.argo_settings import ArgoSettings
from handlers.command import (
    RefreshCommandHandler,
    SyncCommandHandler,
    TerminateCommandHandler,
)
from handlers.compare import CompareHandler
from handlers.delete.deletion_conditions import DeletionConditions
from handlers.delete.handler import DeleteHandler
from handlers.delete.stage_runner import StageRunner
from handlers.health.handler import AssessHandler
from handlers.refresh.handler import RefreshHandler
from handlers.render.chart_dependencies import ChartDependencies
from handlers.render.evaluator import Evaluator
from handlers.render.handler import RenderHandler
from handlers.render.remote_bases import RemoteBases
from handlers.render.render_maker import RenderMaker
from handlers.render.submodule_reader import SubmoduleReader
from handlers.routes import Handlers
from handlers.sync.applier import Applier
from handlers.sync.handler import DecideHandler, FailOnRenderErrorHandler
from handlers.sync.operation_planner import OperationPlanner
from handlers.sync.operation_starter import OperationStarter
from handlers.sync.step import StepHandler
from handlers.sync.step_record import StepRecord


def build_handlers(parts: AgentDependencies) -> Handlers:
    """Give each handler the adapters that it uses; one line a handler."""
    apps, clusters, seen, clock = (
        parts.applications,
        parts.clusters,
        parts.comparisons,
        SystemClock(),
    )
    sources = CountedSources(parts.sources, parts.metrics)
    return Handlers(
        refresh=_refresh(parts, sources, clock),
        hydrate=hydrate_handler(parts, sources, evaluator_of(parts), clock),
        render=_render(parts, sources, clock),
        compare=CompareHandler(apps=apps, comparisons=seen),
        decide=DecideHandler(apps=apps, comparisons=seen, clock=clock),
        step=_step(parts, sources, clock),
        assess=AssessHandler(apps=apps, clusters=clusters, clock=clock),
        fail_on_render_error=FailOnRenderErrorHandler(
            apps=apps, renders=parts.renders, is_proven=parts.prover.holds, clock=clock
        ),
        delete=_delete(parts, clock),
        sync_command=SyncCommandHandler(apps=apps),
        refresh_command=RefreshCommandHandler(apps=apps),
        terminate_command=TerminateCommandHandler(apps=apps),
    )


def _refresh(
    parts: AgentDependencies, sources: CountedSources, clock: SystemClock
) -> RefreshHandler:
    return RefreshHandler(
        apps=parts.applications,
        sources=sources,
        renders=parts.renders,
        refs=parts.refs,
        is_proven=parts.prover.holds,
        clock=clock,
    )


def _render(parts: AgentDependencies, sources: CountedSources, clock: SystemClock) -> RenderHandler:
    return RenderHandler(
        apps=parts.applications,
        clusters=parts.clusters,
        sources=sources,
        make=RenderMaker(
            prover=parts.prover,
            evaluate=evaluator_of(parts),
            artifacts=parts.artifacts,
            renders=parts.renders,
        ),
        renders=parts.renders,
        check_rules=parts.comparisons.check_rules,
        clock=clock,
        settings=lambda: parts.argo_settings.now,
    )


def _step(parts: AgentDependencies, sources: CountedSources, clock: SystemClock) -> StepHandler:
    apps, comparisons = parts.applications, parts.comparisons
    return StepHandler(
        apps=apps,
        comparisons=comparisons,
        starter=OperationStarter(
            apps=apps,
            comparisons=comparisons,
            sources=sources,
            is_proven=parts.prover.holds,
            governance=parts.governance,
            clock=clock,
        ),
        planner=OperationPlanner(
            apps=apps,
            clusters=parts.clusters,
            governance=parts.governance,
            clock=clock,
            settings=lambda: parts.argo_settings.now,
        ),
        applier=Applier(governance=parts.governance),
        record=StepRecord(apps=apps, comparisons=comparisons, clock=clock),
        clock=clock,
    )


def _delete(parts: AgentDependencies, clock: SystemClock) -> DeleteHandler:
    conditions = DeletionConditions(apps=parts.applications, clock=clock)

    def settings() -> ArgoSettings:
        return parts.argo_settings.now

    stages = StageRunner(
        apps=parts.applications,
        clusters=parts.clusters,
        renders=parts.renders,
        artifacts=parts.artifacts,
        governance=parts.governance,
        conditions=conditions,
        is_proven=parts.prover.holds,
        decryption=parts.decryption,
        settings=settings,
    )
    return DeleteHandler(
        apps=parts.applications,
        clusters=parts.clusters,
        renders=parts.renders,
        governance=parts.governance,
        stages=stages,
        conditions=conditions,
        settings=settings,
    )


def build_bridge(parts: AgentDependencies) -> Bridge:
    cluster = ClusterState(
        applications=parts.applications,
        secrets=parts.secrets,
        live=parts.live,
        client=parts.client,
        clusters=parts.clusters,
        namespace=parts.settings.namespace,
    )
    return Bridge(
        link=parts.settings.link,
        bus=parts.bridge_bus,
        tasks=_task_sources(parts, cluster),
        components=_component_states(parts),
        policy=parts.policy,
        settings_changes=parts.argo_settings.changes,
        known_secrets=parts.known_secrets,
        spans=parts.spans,
        version=_version(),
    )


def _task_sources(parts: AgentDependencies, cluster: ClusterState) -> TaskSources:
    desired_state = DesiredState(
        applications=parts.applications,
        sources=parts.sources,
        artifacts=parts.artifacts,
        renders=parts.renders,
        prover=parts.prover,
        evaluate=evaluator_of(parts),
    )
    return TaskSources(
        cluster=cluster,
        governance=parts.governance,
        mirrors=parts.mirrors,
        sources=parts.sources,
        desired_state=desired_state,
        comparisons=parts.comparisons,
        traces=parts.task_traces,
        sandbox=parts.sandbox,
    )


def _component_states(parts: AgentDependencies) -> ComponentStates:
    return ComponentStates(
        readiness=parts.readiness,
        known_secrets=parts.known_secrets,
        buses=(parts.bus, parts.bridge_bus),
        store=parts.store,
        live=parts.live,
        redis=parts.redis,
        version=_version(),
    )


def _version() -> str:
    try:
        return version("plumbline")
    except PackageNotFoundError:
        return "unknown"


def evaluator_of(parts: AgentDependencies) -> Evaluator:
    """Build the evaluator without a cache, for the render handler and for dry runs."""
    sources = CountedSources(parts.sources, parts.metrics)
    return Evaluator(
        renderer=PluginRenderer(SandboxRenderer(parts.sandbox), parts.plugins),
        clusters=parts.clusters,
        control_namespace=parts.settings.namespace,
        tracking=lambda: parts.argo_settings.now.tracking,
        tools=lambda: parts.argo_settings.now.tools,
        dependencies=ChartDependencies(
            sources=sources, apps=parts.applications, clock=SystemClock()
        ),
        submodules=SubmoduleReader(
            sources=sources, apps=parts.applications, is_on=parts.settings.git.submodules
        ),
        bases=RemoteBases(
            sources=CountedSources(parts.sources, parts.metrics),
            apps=parts.applications,
            prover=parts.prover,
            clock=SystemClock(),
        ),
        plugins=parts.plugins,
        decryption=parts.decryption,
    )
