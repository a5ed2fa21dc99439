"""The nouns of connections, and what is given and answered for each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from service.access.permissions import Permission
from service.api.endpoint import Answer, Given
from service.api.fields import Id, Text
from service.api.places import PlaceQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Noun:
    path: str
    kind: str
    """As agents report and take it."""
    view: Permission
    edit: Permission
    delete: Permission


P = Permission
NOUNS = (
    Noun(
        path="repositories",
        kind="Repository",
        view=P.REPOSITORY_VIEW,
        edit=P.REPOSITORY_EDIT,
        delete=P.REPOSITORY_DELETE,
    ),
    Noun(
        path="repository-credentials",
        kind="RepositoryCredentials",
        view=P.REPOSITORY_VIEW,
        edit=P.REPOSITORY_EDIT,
        delete=P.REPOSITORY_DELETE,
    ),
    Noun(
        path="clusters",
        kind="Cluster",
        view=P.CLUSTER_VIEW,
        edit=P.CLUSTER_EDIT,
        delete=P.CLUSTER_DELETE,
    ),
    Noun(
        path="certificates",
        kind="RepositoryCertificate",
        view=P.CERT_VIEW,
        edit=P.CERT_EDIT,
        delete=P.CERT_DELETE,
    ),
    Noun(
        path="keys",
        kind="GnuPGKey",
        view=P.GPGKEY_VIEW,
        edit=P.GPGKEY_EDIT,
        delete=P.GPGKEY_DELETE,
    ),
)


class ConnectionsQuery(PlaceQuery, frozen=True, kw_only=True):
    """Environment and region are those of the agent."""

    agent: Id = ""
    search: Text = ""


class SecretRef(Given, frozen=True, kw_only=True, omit_defaults=True):
    """A Secret of the agent's cluster, in its namespace unless named."""

    name: Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
    namespace: Annotated[str, msgspec.Meta(max_length=63)] = ""
    key: Annotated[str, msgspec.Meta(max_length=253)] = ""


class NewConnection(Given, frozen=True, kw_only=True):
    """`spec` holds the fields that Argo CD has for this kind, without credentials."""

    agent: Id
    name: Annotated[str, msgspec.Meta(max_length=253)] = ""
    url: Annotated[str, msgspec.Meta(max_length=700)] = ""
    type: Annotated[str, msgspec.Meta(max_length=63)] = ""
    project: Annotated[str, msgspec.Meta(max_length=63)] = ""
    text: Annotated[str, msgspec.Meta(max_length=100_000)] = ""
    """A public certificate, lines of known hosts (type `ssh`) or a public GnuPG key."""
    spec: dict[str, Any] = {}
    secret_ref: SecretRef | None = None
    sealed: Annotated[str, msgspec.Meta(max_length=100_000)] | None = None


class Connection(Answer, frozen=True, kw_only=True):
    """`subType` to `expiresAt` are of certificates, known hosts and keys; empty where unknown."""

    id: str
    agent: dict[str, str]
    name: str
    url: str
    type: str
    sub_type: str
    fingerprint: str
    info: str
    """The subject of a certificate, the owner of a key."""
    expires_at: str
    project: str
    status: str
    """`Successful` or `Failed`, of its last use; empty while it was not used."""
    message: str
    attempted_at: str
    """When it was last used, where that is known."""
    as_of: str | None
