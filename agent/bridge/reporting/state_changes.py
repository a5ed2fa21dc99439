"""StateChanges: the sources of all reported states, and the notice of each change of a state.

The trackers derive states (running instances, causes of illness, commits, trusted certificates)
from the indexes of the agent. This module connects each tracker to the index that it follows; the
recorder subscribes here and hears kind and subject of each change.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from agent.bridge.cluster_state import ClusterState
from agent.bridge.reporting.causes import CauseTracker
from agent.bridge.reporting.commit_reports import CommitReader, CommitReporter
from agent.bridge.reporting.components import API_SERVER, ComponentStates
from agent.bridge.reporting.connection_states import ConnectionStates, our_clusters
from agent.bridge.reporting.finished_operations import ApplicationChanges
from agent.bridge.reporting.service_instances import InstanceTracker
from agent.bridge.reporting.state_sources import (
    StateSource,
    application_source,
    cluster_source,
    component_source,
    connection_of,
    connection_source,
    instances_source,
    project_source,
    trust_source,
)
from agent.bridge.reporting.trust_watch import trust_of
from agent.clock import SystemClock
from agent.git.credentials import Secret
from agent.git.mirrors import Mirrors
from agent.kube.cluster_session import ClusterSession
from agent.kube.clusters import Session
from agent.kube.index import LiveIndex
from agent.kube.own_session import OwnClusterSession
from agent.subscribers import Subscribers
from bus.link import OBJECT_KINDS
from bus.link.kinds import (
    APPLICATION,
    CLUSTER,
    INSTANCES,
)
from handlers.application.application import Application
from handlers.ports import LiveObject

BY_SECRET = tuple(kind.name for kind in OBJECT_KINDS if kind.secret_type and kind is not CLUSTER)
"""The kinds whose objects are described by Secrets alone; clusters have one more, our own."""


class StateChanges:
    """`changes` calls with kind and subject; `derive_all` and `run` while `following`."""

    def __init__(
        self,
        cluster: ClusterState,
        mirrors: Mirrors,
        commits: CommitReader,
        components: ComponentStates,
        application_changes: ApplicationChanges,
    ) -> None:
        self._applications = cluster.applications
        self._secrets = cluster.secrets
        self._live = cluster.live
        self._client = cluster.client
        self._clusters = cluster.clusters
        self._namespace = cluster.namespace
        self._mirrors = mirrors
        self._components = components
        self._application_changes = application_changes
        self._instances = InstanceTracker(
            applications=self._applications,
            index_of=self._index_of,
            control_namespace=self._namespace,
        )
        self._causes = CauseTracker(
            applications=self._applications,
            clusters=self._clusters,
            clock=SystemClock(),
            control_namespace=self._namespace,
        )
        self._commits = CommitReporter(applications=self._applications, sources=commits)
        self._trust = trust_of(self._namespace, self._changed)
        self.changes = Subscribers[[str, str]]()
        """Called with kind and subject of every change of a state."""

    def sources(self) -> tuple[StateSource[Any], ...]:
        secrets, namespace = self._secrets, self._namespace
        states = ConnectionStates(self._mirrors.outcomes, self._clusters)
        return (
            application_source(self._applications, self._causes, self._commits),
            project_source(self._applications),
            *(connection_source(kind, secrets, states.of_repository) for kind in BY_SECRET),
            cluster_source(secrets, states.of_cluster, namespace),
            component_source(self._components),
            instances_source(self._instances),
            *(trust_source(kind, self._trust, namespace) for kind in self._trust.kinds),
        )

    @contextmanager
    def following(self) -> Iterator[None]:
        """Follow the indexes until the end of the block."""
        with (
            self._applications.indexed.subscribed(self._object_indexed),
            self._secrets.indexed.subscribed(self._secret_indexed),
            self._mirrors.outcomes.changes.subscribed(self._fetched),
            self._clusters.all_changes.subscribed(self._live_changed),
            self._clusters.changes.subscribed(self._session_changed),
        ):
            yield

    async def derive_all(self) -> None:
        """Derive every state once.

        This ends before the link is dialled: a comparison with the service over states that are
        not derived yet would report their objects as gone.
        """
        self._own_cluster_changed()
        for subject in await self._instances.update(everywhere=True):
            self._changed(INSTANCES.name, subject)
        for subject in await self._causes.update(everywhere=True):
            self._changed(APPLICATION.name, subject)

    async def run(self) -> None:
        """Run the trackers until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._components.watch(self._component_changed), name="components")
            tasks.create_task(self._instances.watch(self._changed), name="instances")
            tasks.create_task(self._causes.watch(self._changed), name="causes")
            tasks.create_task(self._commits.watch(self._changed), name="commits")
            tasks.create_task(self._trust.watch(self._client), name="trust")

    def _changed(self, kind: str, subject: str) -> None:
        self.changes.notify(kind, subject)

    def _connection_changed(self, secret: Secret) -> None:
        connection = connection_of(secret)
        if connection.kind:
            self._changed(connection.kind, f"{connection.namespace}/{connection.name}")

    def _fetched(self, name: str) -> None:
        for secret in self._secrets.all():
            if str(secret) == name:
                self._connection_changed(secret)

    def _component_changed(self, kind: str, name: str) -> None:
        """The state of the API server is also the state of our own cluster's connection."""
        self._changed(kind, name)
        if name == API_SERVER:
            self._own_cluster_changed()

    def _own_cluster_changed(self) -> None:
        for secret in our_clusters(self._secrets, self._namespace):
            self._connection_changed(secret)

    def _secret_indexed(self, secret: Secret) -> None:
        """A Secret that describes our own cluster replaces the connection reported without it."""
        self._connection_changed(secret)
        if connection_of(secret).kind == CLUSTER.name:
            self._own_cluster_changed()

    def _object_indexed(self, kind: str, subject: str) -> None:
        self._changed(kind, subject)
        if kind == APPLICATION.name:
            self._instances.application_changed(subject)
            self._causes.application_changed(subject)
            self._commits.application_changed(subject)
            self._application_changes.notify(subject)

    def _live_changed(
        self, session: Session, before: LiveObject | None, after: LiveObject | None
    ) -> None:
        if isinstance(session, OwnClusterSession) or session.is_open:
            index = session.live.index
            self._instances.observe(index, before, after)
            self._causes.observe(index, before, after)

    def _session_changed(self, session: ClusterSession) -> None:
        """Report the state of a cluster, and look again at what may have changed without it."""
        for secret in self._secrets.all():
            if str(secret) == session.secret.secret:
                self._connection_changed(secret)
        for key in self._clusters.users_of(session):
            self._instances.application_changed(str(key))
            self._causes.application_changed(str(key))

    def _index_of(self, app: Application) -> LiveIndex | None:
        session = self._clusters.open_session(app.spec.destination)
        return session.live.index if session is not None else None
