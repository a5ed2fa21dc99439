"""ClusterSessions keeps one session for each destination cluster in use: port `Clusters`.

A session is opened by the first Application that names its cluster and closed some time after the
last one, when its Secret is removed, or when its Secret changes; then another one is opened with
the new credentials. The agent's own cluster has a session always. `run` owns the tasks of all
sessions; a session that fails says so to its own Applications and delays nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from agent.kube.cluster_registry import ClusterRegistry
from agent.kube.cluster_secret import ClusterSecret
from agent.kube.cluster_session import ClusterSession
from agent.kube.destination_users import DestinationUsers
from agent.kube.index import LiveIndex
from agent.kube.live_change import LiveChange
from agent.kube.own_session import OwnClusterSession, SessionSources
from agent.subscribers import Subscribers
from bus.identity import AppKey
from handlers.application.destination import RegisteredCluster
from handlers.application.spec import Destination
from handlers.ports import DestinationUnavailableError, DestinationUnknownError, LiveObject

_GRACE = 30.0
_DISABLED = (
    "spec.destination: the agent's own cluster is no destination, because argocd-cm says "
    'cluster.inClusterEnabled: "false"'
)
Session = OwnClusterSession | ClusterSession


class ClusterSessions:
    def __init__(
        self,
        own: OwnClusterSession,
        sources: SessionSources,
        registry: Callable[[], ClusterRegistry],
        in_cluster_enabled: Callable[[], bool],
    ) -> None:
        """`registry` reads the Secrets of clusters as they are now."""
        self.own = own
        self.changes = Subscribers[[ClusterSession]]()
        """Called when a session is opened, changes its state, or is closed."""
        self.live_changes = Subscribers[[Session, LiveChange]]()
        """Called with each change of a live object that the agent did not make."""
        self.own_changes = Subscribers[[Session, LiveChange]]()
        """Called with what an apply of the agent has changed."""
        self.all_changes = Subscribers[[Session, LiveObject | None, LiveObject | None]]()
        """Called with each live object before and after, also for own writes and pods."""
        self.secrets_seen = Subscribers[[bytes]]()
        """Called with each Kubernetes Secret of each cluster."""
        self._users = DestinationUsers(registry, self._provide)
        self.rerouted = self._users.rerouted
        """Called for each Application whose destination means something else than before."""
        self._sources = sources
        self._in_cluster_enabled = in_cluster_enabled
        self._sessions: dict[str, ClusterSession] = {}
        self._tasks: dict[ClusterSession, asyncio.Task[None]] = {}
        self._unused: dict[str, float] = {}
        self._changed = asyncio.Event()
        self._follow(own, own.live.index)

    # --- the port ---

    def registered(self, destination: Destination) -> RegisteredCluster:
        found = self._find(destination)
        return found.registered if isinstance(found, ClusterSecret) else found

    def of(self, destination: Destination) -> Session:
        session = self.session(destination)
        if isinstance(session, ClusterSession):
            session.check()
        return session

    # --- for those who read what is there, be it of the past ---

    def session(self, destination: Destination) -> Session:
        """Return the session whatever its state; raises as `of` where there is none."""
        found = self._find(destination)
        if isinstance(found, RegisteredCluster):
            return self.own
        session = self._sessions.get(found.registered.cluster.server)
        if session is None:
            text = f"the cluster {found.registered.cluster} is not in use by any Application"
            raise DestinationUnavailableError(text, pending=True)
        return session

    def open_session(self, destination: Destination) -> Session | None:
        """Return the session whose live state can be read; None where there is none."""
        try:
            session = self.session(destination)
        except (DestinationUnavailableError, DestinationUnknownError):
            return None
        return session if isinstance(session, OwnClusterSession) or session.is_open else None

    def problem_of(self, secret: str) -> str:
        """Why the Secret of a cluster (`namespace/name`) is of no use; empty where it is."""
        return self._users.problem_of(secret)

    def all(self) -> Sequence[ClusterSession]:
        """List the sessions of other clusters."""
        return tuple(self._sessions.values())

    def of_server(self, server: str) -> ClusterSession | None:
        return self._sessions.get(server)

    def users_of(self, session: Session) -> Sequence[AppKey]:
        """List the Applications whose destination is the cluster of the session."""
        return self._users.of_server(session.cluster.server)

    def is_user(self, app: AppKey, session: Session) -> bool:
        return self._users.server_of(app) == session.cluster.server

    # --- what changes ---

    def use(self, app: AppKey, destination: Destination | None) -> None:
        """Note where an Application is deployed; None: nowhere any more."""
        self._users.use(app, destination)

    def secrets_changed(self) -> None:
        """Read the Secrets of clusters again, before the next answer."""
        self._users.outdated = True
        self._changed.set()

    async def run(self) -> None:
        """Run the sessions until cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._changed.clear()
                self._tend(group)
                try:
                    async with asyncio.timeout(_GRACE if self._unused else None):
                        await self._changed.wait()
                except TimeoutError:
                    continue

    def _provide(self) -> None:
        """Have a session for each cluster in use, and none with credentials of the past."""
        self.own.registered = self._users.own()
        needed = self._users.needed()
        for server, session in tuple(self._sessions.items()):
            current = needed.get(server) or self._users.described(server)
            if current != session.secret:
                self._drop(server)
        for server, secret in needed.items():
            self._unused.pop(server, None)
            if server not in self._sessions:
                self._add(server, secret)
        for server in self._sessions.keys() - needed.keys():
            self._unused.setdefault(server, time.monotonic())
        self._changed.set()

    def _add(self, server: str, secret: ClusterSecret) -> None:
        session = ClusterSession(secret, self._sources, self._follow)
        session.changes.subscribe(lambda: self._session_changed(session))
        self._sessions[server] = session

    def _drop(self, server: str) -> None:
        self._unused.pop(server, None)
        self.changes.notify(self._sessions.pop(server))

    def _follow(self, session: Session, index: LiveIndex) -> None:
        """Tell the subscribers of all clusters what changes in one of them."""

        def changed(change: LiveChange) -> None:
            self.live_changes.notify(session, change)

        def applied(change: LiveChange) -> None:
            self.own_changes.notify(session, change)

        def indexed(before: LiveObject | None, after: LiveObject | None) -> None:
            self.all_changes.notify(session, before, after)

        index.changes_of_others.subscribe(changed)
        index.own_changes.subscribe(applied)
        index.all_changes.subscribe(indexed)
        index.secrets_seen.subscribe(self.secrets_seen.notify)

    def _session_changed(self, session: ClusterSession) -> None:
        if self._sessions.get(session.cluster.server) is session:
            self.changes.notify(session)

    def _tend(self, group: asyncio.TaskGroup) -> None:
        """End the tasks of sessions that are gone or long unused, and start those of new ones."""
        self._users.refresh()
        now = time.monotonic()
        for server, since in tuple(self._unused.items()):
            if now - since >= _GRACE:
                self._drop(server)
        current = set(self._sessions.values())
        for session in self._tasks.keys() - current:
            self._tasks.pop(session).cancel()
        for session in current - self._tasks.keys():
            name = f"session of {session.cluster}"
            self._tasks[session] = group.create_task(session.run(), name=name)

    def _find(self, destination: Destination) -> ClusterSecret | RegisteredCluster:
        found = self._users.meaning(destination)
        if isinstance(found, DestinationUnknownError):
            raise DestinationUnknownError(found.message, gone=found.gone)
        if isinstance(found, RegisteredCluster) and not self._in_cluster_enabled():
            raise DestinationUnknownError(_DISABLED)
        return found
