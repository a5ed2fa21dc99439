"""TaskWiring: the table of executors, with one row for each kind of task.

Each executor is given what it uses. A kind without a row is refused as `unsupported`, and the agent
does not name it among its capabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.bridge.cluster_state import ClusterState
from agent.bridge.identity.key_store import LinkKeys
from agent.bridge.live_object_wiring import live_object_executors
from agent.bridge.reporting.finished_operations import FinishedOperations
from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.executors.application_places import ApplicationPlaces
from agent.bridge.tasks.executors.commands import (
    CommandPublisher,
    RefreshExecutor,
    TerminateExecutor,
)
from agent.bridge.tasks.executors.connections import ConnectionWriter
from agent.bridge.tasks.executors.deletion_confirmation import ConfirmDeletionExecutor
from agent.bridge.tasks.executors.desired_state import DesiredState, ManifestsExecutor
from agent.bridge.tasks.executors.diff import DiffExecutor
from agent.bridge.tasks.executors.events import EventsExecutor, EventStreamExecutor, ObjectEvents
from agent.bridge.tasks.executors.known_clusters import KnownClusters
from agent.bridge.tasks.executors.links import LinksExecutor
from agent.bridge.tasks.executors.live import LiveExecutor, TreeExecutor
from agent.bridge.tasks.executors.logs import LogsExecutor
from agent.bridge.tasks.executors.operations import SyncOperations
from agent.bridge.tasks.executors.overrides import Overrides
from agent.bridge.tasks.executors.refs import RefsExecutor
from agent.bridge.tasks.executors.sync import RollbackExecutor, SyncExecutor
from agent.bridge.tasks.executors.sync_windows import SyncWindowsExecutor
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.executors.trust_changes import TrustWriter
from agent.bridge.tasks.executors.writes import DeleteExecutor, PutExecutor
from agent.bridge.tasks.executors.written_objects import ObjectWriter
from agent.bridge.tasks.live_objects.task_object import TaskObjects
from agent.bridge.tasks.shells.shell_session import ShellLimits
from agent.bridge.tasks.task_context import Executor, executor_of
from agent.bridge.tasks.task_traces import TaskTraces
from agent.git.mirrors import Mirrors
from agent.sources import SourceReaders
from bus.link import (
    ConfirmDeletionArguments,
    DeleteArguments,
    DiffArguments,
    EventsArguments,
    EventStreamArguments,
    LinksArguments,
    LiveArguments,
    LogsArguments,
    ManifestsArguments,
    PutArguments,
    RefreshArguments,
    RefsArguments,
    RollbackArguments,
    SyncArguments,
    SyncWindowsArguments,
    TaskKind,
    TerminateArguments,
    TreeArguments,
)
from handlers.comparison.reader import ComparisonReader
from handlers.control_plane.governance import Governance
from handlers.report.redaction import Redaction
from sandbox.client import Sandbox

Executors = Mapping[TaskKind, Executor]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSources:
    """What tasks read and write; all of it is open before the bridge runs."""

    cluster: ClusterState
    governance: Governance
    mirrors: Mirrors
    sources: SourceReaders
    desired_state: DesiredState
    comparisons: ComparisonReader
    traces: TaskTraces
    sandbox: Sandbox


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskWiring:
    sources: TaskSources
    commands: CommandPublisher
    finished_operations: FinishedOperations
    redaction: Callable[[], Redaction]
    keys: Callable[[], LinkKeys]
    shell_limits: ShellLimits

    def executors(self) -> Executors:
        sources, redaction = self.sources, self.redaction
        cluster, governance = sources.cluster, sources.governance
        subjects = TaskSubjects(cluster.applications)
        settings = sources.comparisons.settings
        objects = VisibleObjects(
            clusters=cluster.clusters, governance=governance, settings=settings
        )
        places = ApplicationPlaces(
            applications=cluster.applications,
            settings=settings,
            control_namespace=cluster.namespace,
        )
        writer = ObjectWriter(
            cluster=cluster, governance=governance, places=places, redaction=redaction
        )
        found = TaskObjects(
            subjects=subjects,
            objects=objects,
            comparisons=sources.comparisons,
            redaction=redaction,
            writer=writer,
        )
        return {
            **self._commands(subjects),
            **self._writes(writer),
            **self._manifest_reads(subjects, objects),
            **self._object_reads(subjects, objects),
            **live_object_executors(found, sources.sandbox, self.shell_limits),
        }

    def _commands(self, subjects: TaskSubjects) -> Executors:
        sources, publisher = self.sources, self.commands
        operations = SyncOperations(
            applications=sources.cluster.applications,
            finished_operations=self.finished_operations,
            commands=publisher,
            traces=sources.traces,
        )
        overrides = Overrides(sources=sources.sources, governance=sources.governance)
        sync = SyncExecutor(
            subjects=subjects,
            overrides=overrides,
            operations=operations,
            settings=self.sources.comparisons.settings,
        )
        rollback = RollbackExecutor(subjects=subjects, operations=operations)
        confirmation = ConfirmDeletionExecutor(
            subjects=subjects, cluster=sources.cluster, governance=sources.governance
        )
        return dict(
            (
                executor_of(SyncArguments, sync),
                executor_of(RollbackArguments, rollback),
                executor_of(ConfirmDeletionArguments, confirmation),
                executor_of(
                    RefreshArguments, RefreshExecutor(subjects=subjects, commands=publisher)
                ),
                executor_of(
                    TerminateArguments, TerminateExecutor(subjects=subjects, commands=publisher)
                ),
            )
        )

    def _writes(self, writer: ObjectWriter) -> Executors:
        cluster, governance = self.sources.cluster, self.sources.governance
        connections = ConnectionWriter(
            client=cluster.client,
            secrets=cluster.secrets,
            keys=self.keys,
            trust=TrustWriter(cluster.client, cluster.namespace),
            clusters=lambda: KnownClusters(
                secrets=cluster.secrets.all(),
                destinations={it.key: it.spec.destination for it in cluster.applications.all()},
                policy=governance.policy(),
            ),
            namespace=cluster.namespace,
        )
        return dict(
            (
                executor_of(PutArguments, PutExecutor(objects=writer, connections=connections)),
                executor_of(
                    DeleteArguments, DeleteExecutor(objects=writer, connections=connections)
                ),
            )
        )

    def _manifest_reads(self, subjects: TaskSubjects, objects: VisibleObjects) -> Executors:
        sources, desired_state = self.sources, self.sources.desired_state
        diff = DiffExecutor(
            subjects=subjects,
            desired_state=desired_state,
            comparisons=sources.comparisons,
            objects=objects,
            redaction=self.redaction,
        )
        manifests = ManifestsExecutor(subjects=subjects, desired_state=desired_state)
        refs = RefsExecutor(
            applications=sources.cluster.applications,
            secrets=sources.cluster.secrets,
            mirrors=sources.mirrors,
            sources=sources.sources,
        )
        windows = SyncWindowsExecutor(
            subjects=subjects, cluster=sources.cluster, governance=sources.governance
        )
        return dict(
            (
                executor_of(DiffArguments, diff),
                executor_of(ManifestsArguments, manifests),
                executor_of(RefsArguments, refs),
                executor_of(SyncWindowsArguments, windows),
            )
        )

    def _object_reads(self, subjects: TaskSubjects, objects: VisibleObjects) -> Executors:
        events = ObjectEvents(subjects=subjects, objects=objects)
        logs = LogsExecutor(subjects=subjects, objects=objects, redaction=self.redaction)
        stream = EventStreamExecutor(events=events, redaction=self.redaction)
        live = LiveExecutor(subjects=subjects, objects=objects)
        links = LinksExecutor(
            subjects=subjects,
            objects=objects,
            cluster=self.sources.cluster,
            redaction=self.redaction,
            sandbox=self.sources.sandbox,
        )
        tree = TreeExecutor(subjects=subjects, objects=objects)
        return dict(
            (
                executor_of(LinksArguments, links),
                executor_of(LiveArguments, live),
                executor_of(TreeArguments, tree),
                executor_of(EventsArguments, EventsExecutor(events)),
                executor_of(EventStreamArguments, stream),
                executor_of(LogsArguments, logs),
            )
        )
