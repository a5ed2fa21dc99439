"""The table of object kinds: what agents report of a cluster, and what tasks may write in it.

A row says how a kind is called on the link, in Kubernetes, in permissions and in the REST API, and
whether a task may put and delete it. Agent and service read the table wherever they deal with every
kind; nothing else lists them. docs/extend/object-kind.md adds a kind.

A service keeps objects of kinds that it does not know as they are; nobody is told of their changes.
"""

from __future__ import annotations

import msgspec


class Collection(msgspec.Struct, frozen=True, kw_only=True):
    """Where the REST API lists a kind of connection, and its words there."""

    path: str
    one: str
    many: str
    """The noun in texts: `repository`, `repositories`."""


class ObjectKind(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    """In StateBody.kind, in the type of items (in lower case), and in arguments of tasks."""
    noun: str = ""
    """The noun of the permissions that show it; empty: nobody is told of its changes."""
    resource: str = ""
    """The plural of a custom resource of argoproj.io; empty if it is none."""
    secret_type: str = ""
    """The label's value of the Secrets that describe such objects; empty if none do."""
    collection: Collection | None = None
    """Of a connection, which has endpoints of its own; None for all else."""
    writable: bool = False
    """Whether a task may put and delete it."""


APPLICATION = ObjectKind(
    name="Application", noun="application", resource="applications", writable=True
)
PROJECT = ObjectKind(name="AppProject", noun="application", resource="appprojects", writable=True)
INSTANCES = ObjectKind(name="Instances", noun="application")
"""The pods of an Application, by its subject."""
REPOSITORY = ObjectKind(
    name="Repository",
    noun="repository",
    secret_type="repository",  # noqa: S106  a label's value
    collection=Collection(path="repositories", one="repository", many="repositories"),
    writable=True,
)
REPOSITORY_CREDENTIALS = ObjectKind(
    name="RepositoryCredentials",
    noun="repository",
    secret_type="repo-creds",  # noqa: S106  a label's value
    collection=Collection(
        path="repository-credentials", one="repository credential", many="repository credentials"
    ),
    writable=True,
)
CLUSTER = ObjectKind(
    name="Cluster",
    noun="cluster",
    secret_type="cluster",  # noqa: S106  a label's value
    collection=Collection(path="clusters", one="cluster", many="clusters"),
    writable=True,
)
CERTIFICATE = ObjectKind(
    name="RepositoryCertificate",
    noun="cert",
    collection=Collection(path="certificates", one="certificate", many="certificates"),
    writable=True,
)
KEY = ObjectKind(
    name="GnuPGKey",
    noun="gpgkey",
    collection=Collection(path="keys", one="GnuPG key", many="GnuPG keys"),
    writable=True,
)
COMPONENT = ObjectKind(name="Component")
"""A part that the agent stands on: NATS, the API server, Redis, the agent itself."""

OBJECT_KINDS: tuple[ObjectKind, ...] = (
    APPLICATION,
    PROJECT,
    INSTANCES,
    REPOSITORY,
    REPOSITORY_CREDENTIALS,
    CLUSTER,
    CERTIFICATE,
    KEY,
    COMPONENT,
)
_BY_NAME = {kind.name: kind for kind in OBJECT_KINDS}
_OLD_TYPES = {"project": PROJECT.name}
"""Types of items from before the present names."""
_BY_TYPE = {kind.name.lower(): kind.name for kind in OBJECT_KINDS} | _OLD_TYPES


def object_kind(name: str) -> ObjectKind | None:
    """The kind of this name; None for one that only a newer agent or service knows."""
    return _BY_NAME.get(name)


def kind_of_type(item_type: str) -> str:
    """The name of the kind that items of this type are about; empty if it is not known."""
    return _BY_TYPE.get(item_type.partition(".")[0], "")
