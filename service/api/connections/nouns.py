"""The kinds of connection, and the types of their requests and answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from bus.link import OBJECT_KINDS
from bus.link.kinds import REPOSITORY, Collection
from service.access.permissions import Permission, object_permission
from service.api.connections.reported_objects import ReportingAgent
from service.http.endpoint import RequestModel, ResponseModel
from service.http.fields import EnvironmentQuery, Id, Text


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionNoun:
    """A kind of object that has endpoints of its own, by its row in bus/link/kinds.py."""

    kind: str
    """As agents report and take it."""
    words: Collection
    view: Permission
    edit: Permission
    delete: Permission

    @property
    def path(self) -> str:
        return self.words.path


def connection_nouns() -> Iterator[ConnectionNoun]:
    """A noun for each object kind that the API lists as a connection, in the table's order."""
    for kind in OBJECT_KINDS:
        if kind.collection is not None:
            yield ConnectionNoun(
                kind=kind.name,
                words=kind.collection,
                view=object_permission(kind, "view"),
                edit=object_permission(kind, "edit"),
                delete=object_permission(kind, "delete"),
            )


NOUNS = tuple(connection_nouns())
REPOSITORIES = next(noun for noun in NOUNS if noun.kind == REPOSITORY.name)


class ConnectionsQuery(EnvironmentQuery, frozen=True, kw_only=True):
    """Environment and region are those of the agent."""

    agent: Id = ""
    search: Text = ""


class ConnectionSecretRef(RequestModel, frozen=True, kw_only=True, omit_defaults=True):
    """A Secret of the agent's cluster, in its namespace unless named."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    key: Annotated[str, msgspec.Meta(max_length=253)] = ""


class NewConnection(RequestModel, frozen=True, kw_only=True):
    """`spec` holds the fields that Argo CD has for this kind, without credentials."""

    agent: Id
    name: Annotated[str, msgspec.Meta(max_length=253)] = ""
    url: Annotated[str, msgspec.Meta(max_length=700)] = ""
    type: Annotated[str, msgspec.Meta(max_length=63)] = ""
    project: Annotated[str, msgspec.Meta(max_length=63)] = ""
    text: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    """A public certificate, lines of known hosts (type `ssh`) or a public GnuPG key."""
    spec: dict[str, Any] = {}
    secret_ref: ConnectionSecretRef | None = None
    sealed: Annotated[str, msgspec.Meta(max_length=100_000)] | None = None


class ConnectionSummary(ResponseModel, frozen=True, kw_only=True):
    """`subType` to `expiresAt` are of certificates, known hosts and keys; empty where unknown."""

    id: str
    agent: ReportingAgent
    name: str
    url: str
    type: str
    sub_type: str
    fingerprint: str
    info: str
    """The subject of a certificate, the owner of a key."""
    expires_at: str
    project: str
    version: str
    """What If-Match takes for a deletion; it changes with every write of the connection."""
    status: str
    """`Successful` or `Failed`, of its last use; empty while it was not used."""
    message: str
    attempted_at: str
    """When it was last used, where that is known; of a cluster, since when it has its status."""
    contact_at: str
    """When a cluster that fails could be used last; empty where it can, or never could."""
    server_version: str
    """Of a cluster's API server; empty where it is not known."""
    objects: int
    """How many objects of a cluster the agent watches."""
    applications: int
    """How many applications are deployed to a cluster."""
    as_of: str
