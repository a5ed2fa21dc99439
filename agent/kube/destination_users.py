"""DestinationUsers knows which Applications are deployed to which cluster.

What a server or a name means is remembered until a Secret of a cluster changes. Many Secrets that
change at once are read once, before the next answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from agent.kube.cluster_registry import OWN, ClusterRegistry
from agent.kube.cluster_secret import ClusterSecret
from agent.subscribers import Subscribers
from bus.identity import AppKey
from handlers.application.destination import (
    IN_CLUSTER_SERVER,
    DestinationCluster,
    DestinationError,
    RegisteredCluster,
)
from handlers.application.spec import Destination
from handlers.ports import DestinationUnknownError

_REMEMBERED = 10_000

Spelling = tuple[str, str]
"""Server and name as an Application writes them."""
Meaning = ClusterSecret | RegisteredCluster | DestinationUnknownError
"""How to connect to another cluster, the own cluster, or why it is neither."""


class DestinationUsers:
    def __init__(self, read: Callable[[], ClusterRegistry], changed: Callable[[], None]) -> None:
        """`changed` is called when other clusters are in use, or a Secret is another one."""
        self.rerouted = Subscribers[[AppKey]]()
        self.outdated = False
        """Whether the Secrets have changed since they were read."""
        self._read = read
        self._changed = changed
        self._registry = ClusterRegistry()
        self._users: dict[AppKey, Destination] = {}
        self._used = Counter[Spelling]()
        self._meanings: dict[Spelling, Meaning] = {}

    def use(self, app: AppKey, destination: Destination | None) -> None:
        """Note where an Application is deployed; None: nowhere any more."""
        before = self._users.get(app)
        if before == destination:
            return
        known = self._used.keys() - set()
        if before is not None:
            del self._users[app]
            self._leave(_spelling(before))
        if destination is not None:
            self._users[app] = destination
            self._used[_spelling(destination)] += 1
        if known != self._used.keys():
            self._changed()

    def _leave(self, spelling: Spelling) -> None:
        self._used[spelling] -= 1
        if not self._used[spelling]:
            del self._used[spelling]

    def meaning(self, destination: Destination) -> Meaning:
        return self._meaning(_spelling(destination))

    def needed(self) -> Mapping[str, ClusterSecret]:
        """Map the server of each other cluster in use to the way to connect."""
        found = (self._meaning(spelling) for spelling in tuple(self._used))
        secrets = (one for one in found if isinstance(one, ClusterSecret))
        return {one.registered.cluster.server: one for one in secrets}

    def described(self, server: str) -> ClusterSecret | None:
        """Find the Secret of a cluster, in use or not."""
        found = self._meaning((server, ""))
        return found if isinstance(found, ClusterSecret) else None

    def own(self) -> RegisteredCluster:
        """The agent's own cluster, as a Secret describes it if one does."""
        found = self._meaning((IN_CLUSTER_SERVER, ""))
        return found if isinstance(found, RegisteredCluster) else OWN

    def of_server(self, server: str) -> Sequence[AppKey]:
        used = {one for one in tuple(self._used) if self._server(one) == server}
        return [app for app, there in self._users.items() if _spelling(there) in used]

    def server_of(self, app: AppKey) -> str:
        """The server that an Application is deployed to; empty where that names no cluster."""
        there = self._users.get(app)
        return self._server(_spelling(there)) if there is not None else ""

    def problem_of(self, secret: str) -> str:
        """Why the Secret of a cluster (`namespace/name`) is of no use; empty where it is."""
        self.refresh()
        return self._registry.problem_of(secret)

    def refresh(self) -> None:
        """Read the Secrets if they have changed."""
        if not self.outdated:
            return
        self.outdated = False
        before = {one: self._meanings.get(one) for one in self._used}
        self._registry = self._read()
        self._meanings.clear()
        self._changed()
        other = {
            spelling
            for spelling, meaning in before.items()
            if meaning is not None and not _same(meaning, self._meaning(spelling))
        }
        for app, there in tuple(self._users.items()):
            if _spelling(there) in other:
                self.rerouted.notify(app)

    def _server(self, spelling: Spelling) -> str:
        match self._meaning(spelling):
            case ClusterSecret() as secret:
                return secret.registered.cluster.server
            case RegisteredCluster():
                return IN_CLUSTER_SERVER
            case _:
                return ""

    def _meaning(self, spelling: Spelling) -> Meaning:
        self.refresh()
        found = self._meanings.get(spelling)
        if found is None:
            if len(self._meanings) >= _REMEMBERED:
                self._meanings.clear()
            found = self._meanings[spelling] = self._looked_up(*spelling)
        return found

    def _looked_up(self, server: str, name: str) -> Meaning:
        try:
            destination = Destination(server=server, name=name)
            return self._registry.find(DestinationCluster.of(destination))
        except DestinationError as error:
            return DestinationUnknownError(str(error))
        except DestinationUnknownError as error:
            return error


def _spelling(destination: Destination) -> Spelling:
    return destination.server, destination.name


def _same(one: Meaning, other: Meaning) -> bool:
    if isinstance(one, DestinationUnknownError) and isinstance(other, DestinationUnknownError):
        return one.message == other.message
    return one == other
