"""ObjectNode: the tree of an application's live objects, from tracked objects down to pods.

The roots are the tracked objects; their descendants are found by owner references in the live
index, without a request to the API server. VisibleObjects are those that the control plane may
look at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import msgspec

from agent.kube.client import KubeClient
from agent.kube.clusters import ClusterSessions, Session
from bus.identity import AppKey, ResourceKey
from handlers.application.application import Application
from handlers.application.argo_settings import ArgoSettings
from handlers.application.impersonation import ActingUser, acting_user
from handlers.comparison.application_writer import application_writer
from handlers.comparison.orphan_search import OrphanSearch
from handlers.control_plane.governance import Governance
from handlers.ports import ClusterWriter, LiveObject

_MOST = 5000


class ObjectFamily(Protocol):
    """Relations between live objects."""

    def tracked(self, app: AppKey) -> tuple[LiveObject, ...]: ...
    def owned_by(self, uid: str) -> tuple[LiveObject, ...]: ...


class ObjectNode(msgspec.Struct, frozen=True, kw_only=True):
    live: LiveObject
    parents: tuple[ResourceKey, ...] = ()


def nodes_of(app: Application, live: ObjectFamily) -> dict[ResourceKey, ObjectNode]:
    """The nodes of the application, roots first, each object once."""
    return _below(live.tracked(app.key), live)


def _below(roots: Iterable[LiveObject], live: ObjectFamily) -> dict[ResourceKey, ObjectNode]:
    found: dict[ResourceKey, ObjectNode] = {}
    waiting = [ObjectNode(live=root) for root in roots]
    for node in waiting:
        if node.live.key in found or len(found) >= _MOST:
            continue
        found[node.live.key] = node
        waiting.extend(_children(node.live, live))
    return found


def _children(parent: LiveObject, live: ObjectFamily) -> Iterator[ObjectNode]:
    for child in sorted(live.owned_by(parent.uid), key=lambda one: one.key):
        yield ObjectNode(live=child, parents=(parent.key,))


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleObjects:
    clusters: ClusterSessions
    governance: Governance
    settings: Callable[[], ArgoSettings] = ArgoSettings

    def nodes(self, app: Application) -> dict[ResourceKey, ObjectNode]:
        """The application's objects, roots first, without those that are hidden."""
        found = nodes_of(app, self.session(app).live)
        return {key: node for key, node in found.items() if not self.is_hidden(key)}

    def session(self, app: Application) -> Session:
        """The session of its cluster; DestinationUnknownError, DestinationUnavailableError."""
        return self.clusters.of(app.spec.destination)

    def orphaned(self, app: Application) -> tuple[LiveObject, ...]:
        """The objects in the namespace that no application has, where the project asks for them."""
        session, governance = self.session(app), self.governance
        search = OrphanSearch(
            apps=governance.apps,
            control_namespace=governance.control_namespace,
            settings=self.settings,
        )
        own = {one.key for one in app.status.resources}
        found = search.find(app, session, own, self.is_hidden)[:_MOST]
        return tuple(one for key in found if (one := session.live.get(key)) is not None)

    def orphan_nodes(self, app: Application) -> dict[ResourceKey, ObjectNode]:
        """The orphaned resources and what they own, without those that are hidden."""
        found = _below(self.orphaned(app), self.session(app).live)
        return {key: node for key, node in found.items() if not self.is_hidden(key)}

    def client_as(self, app: Application) -> KubeClient:
        """The client of its cluster, as the account that its project names.

        Raises as `session`, and ForbiddenError where the project has to name one and does not.
        """
        return self.session(app).client_as(self._user(app))

    def writer_as(self, app: Application) -> ClusterWriter:
        """The writer of its cluster, likewise; without an account it refuses every write."""
        return application_writer(app, self.session(app), self.governance.apps, self.settings())

    def _user(self, app: Application) -> ActingUser:
        project, cluster = self.governance.apps.project(app.spec.project), self.session(app).cluster
        return acting_user(app, project, cluster, self.settings().impersonation)

    def is_hidden(self, key: ResourceKey) -> bool:
        """Whether the policy of the cluster's owner keeps the object from the control plane."""
        return self.governance.hidden(key)
