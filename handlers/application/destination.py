"""DestinationCluster: the cluster that a destination names, however it is spelled. Pure.

The cluster that the agent runs in has a server and a name; every spelling of either is IN_CLUSTER.
A rule of a project is held against all identities of the value, so that a denial by one of them
holds for all. `spec.Destination` is what a person wrote; decisions are made about this type.
"""

from __future__ import annotations

import msgspec

from bus.address import AddressError, Origin, canonical_path, split_address
from handlers.application.spec import Destination

IN_CLUSTER_SERVER = "https://kubernetes.default.svc"
IN_CLUSTER_NAME = "in-cluster"


class DestinationError(ValueError):
    """A destination that names no cluster for certain; the message says why."""


class DestinationCluster(msgspec.Struct, frozen=True, order=True):
    """Make it with `of`, `at` or `named`: `server` is canonical, an empty field is not known."""

    server: str = ""
    name: str = ""

    def __str__(self) -> str:
        return self.server or self.name

    @property
    def identities(self) -> tuple[str, ...]:
        return tuple(one for one in (self.server, self.name) if one)

    @classmethod
    def of(cls, destination: Destination) -> DestinationCluster:
        """Raises DestinationError; the namespace is no part of the cluster."""
        server, name = destination.server.strip(), destination.name.strip()
        if server and name:
            raise DestinationError(
                "spec.destination has both server and name; expected one of them "
                f"(server {server!r}, name {name!r})"
            )
        if not (server or name):
            raise DestinationError(
                f"spec.destination is missing; expected server {IN_CLUSTER_SERVER!r} or a name"
            )
        return cls.at(server) if server else cls.named(name)

    @classmethod
    def at(cls, server: str) -> DestinationCluster:
        """The cluster with this address of its API server; raises DestinationError."""
        canonical = canonical_server(server)
        return IN_CLUSTER if canonical == IN_CLUSTER_SERVER else cls(server=canonical)

    @classmethod
    def named(cls, name: str) -> DestinationCluster:
        return IN_CLUSTER if name == IN_CLUSTER_NAME else cls(name=name)


class RegisteredCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A cluster that Applications may name: the agent's own, or one that a Secret describes."""

    cluster: DestinationCluster
    """With server and name."""
    project: str = ""
    """The AppProject that alone may use the cluster; empty: all may."""
    namespaces: tuple[str, ...] = ()
    """Namespaces that the agent may look at and deploy to; empty: all."""
    cluster_resources: bool = True
    """Whether objects without a namespace are managed too."""


IN_CLUSTER = DestinationCluster(server=IN_CLUSTER_SERVER, name=IN_CLUSTER_NAME)


def canonical_server(text: str) -> str:
    """Bring the address of an API server into the form in which it is compared."""
    try:
        parts = split_address(text)
        origin = Origin.parse(parts.scheme, parts.authority)
        path = canonical_path(parts.path)
    except AddressError as error:
        raise DestinationError(f"the server of the destination {error}") from None
    if parts.user or origin.scheme not in ("http", "https"):
        raise DestinationError("the server of the destination is no https://host[:port] address")
    return f"{origin}{path}"
