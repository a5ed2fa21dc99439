"""The port `Clusters` over one cluster, the agent's own, whose sides a test gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from handlers.application.destination import IN_CLUSTER, DestinationCluster, RegisteredCluster
from handlers.application.impersonation import ActingUser
from handlers.application.spec import Destination
from handlers.manifest.kinds import KindInfo
from handlers.ports import ClusterWriter, LiveState


class OneSession(msgspec.Struct, kw_only=True):
    """handlers.ports.DestinationSession of values."""

    live: LiveState
    writer: ClusterWriter = cast("Any", None)
    registered: RegisteredCluster = RegisteredCluster(cluster=IN_CLUSTER)
    may_be_own: bool = True
    cluster_uid: str = ""

    @property
    def cluster(self) -> DestinationCluster:
        return self.registered.cluster

    def writer_as(self, user: ActingUser) -> ClusterWriter:
        return self.writer


class OneCluster(msgspec.Struct):
    """handlers.ports.Clusters that finds the same session for every destination."""

    session: OneSession

    def registered(self, destination: Destination) -> RegisteredCluster:
        return self.session.registered

    def of(self, destination: Destination) -> OneSession:
        return self.session


class ServedKinds(msgspec.Struct):
    """The part of a LiveState that knows kinds."""

    kind: Callable[[str, str], KindInfo | None]


def cluster_of_kinds(kind: Callable[[str, str], KindInfo | None], **session: Any) -> OneCluster:
    return OneCluster(OneSession(live=cast("Any", ServedKinds(kind)), **session))
