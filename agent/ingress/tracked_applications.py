"""TrackedApplications finds the Application that a tracking annotation in a cluster names."""

from __future__ import annotations

from dataclasses import dataclass

from agent.kube.clusters import ClusterSessions, Session
from agent.store.applications import Applications
from bus.identity import AppKey
from handlers.application.application import Application
from handlers.manifest.tracking import app_identity


@dataclass(frozen=True, slots=True, kw_only=True)
class TrackedApplications:
    applications: Applications
    clusters: ClusterSessions
    control_namespace: str

    def key(self, session: Session, identity: str) -> AppKey | None:
        """Find the Application of a tracking identity, if it is deployed to this cluster.

        The identity is `name`, or `namespace_name` outside the control namespace.
        """
        namespace, underscore, name = identity.partition("_")
        key = AppKey(namespace, name) if underscore else AppKey(self.control_namespace, identity)
        known = self.clusters.is_user(key, session)
        return key if known and app_identity(key, self.control_namespace) == identity else None

    def application(self, session: Session, identity: str) -> Application | None:
        key = self.key(session, identity)
        return self.applications.get(key) if key is not None else None
