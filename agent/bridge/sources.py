"""Sources: of each kind of state, where its objects are found and how one becomes an item.

A new kind is one function here. What is found answers from memory; `version` is another one
whenever the object is another one, so that an item is made once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from agent.bridge.trust import Trust
from agent.git.credentials import SECRET_TYPE, Secret
from agent.store.applications import Applications
from agent.store.secrets import Secrets
from bus.cause import Cause
from bus.identity import AppKey, digest_of
from bus.link import Item
from handlers.application.application import Application, AppProject
from handlers.report.instances import INSTANCES, Instances, instances_item
from handlers.report.items import (
    APPLICATION,
    CLUSTER,
    COMPONENT,
    PROJECT,
    REPOSITORY,
    REPOSITORY_CREDENTIALS,
    Component,
    Connection,
    ConnectionState,
    ReportedApplication,
    Stamp,
    application_item,
    component_item,
    connection_item,
    project_item,
)
from handlers.report.redaction import Redaction
from handlers.report.trust import trusted_item
from handlers.trust.trusted import Trusted

T = TypeVar("T")
_SECRET_KINDS = {
    "repository": REPOSITORY,
    "repo-creds": REPOSITORY_CREDENTIALS,
    "cluster": CLUSTER,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Generic[T]):
    """The objects of one kind, by subject."""

    kind: str
    all: Callable[[], Mapping[str, T]]
    get: Callable[[str], T | None]
    version: Callable[[T], str]
    shape: Callable[[T, Stamp, Redaction], Item]
    known: Callable[[], bool] = lambda: True
    """Whether what is found is all there is; until then nothing is said of the kind."""


def application_source(
    applications: Applications, causes: Callable[[], Mapping[str, Cause]]
) -> Source[ReportedApplication]:
    def reported(app: Application) -> ReportedApplication:
        return ReportedApplication(app=app, cause=causes().get(str(app.key)))

    def get(subject: str) -> ReportedApplication | None:
        namespace, _, name = subject.partition("/")
        app = applications.get(AppKey(namespace, name)) if name else None
        return reported(app) if app is not None else None

    return Source(
        kind=APPLICATION,
        all=lambda: {str(app.key): reported(app) for app in applications.all()},
        get=get,
        version=lambda found: f"{_object_version(found.app)}:{_value_version(found.cause)}",
        shape=application_item,
    )


def project_source(applications: Applications) -> Source[AppProject]:
    def found() -> Mapping[str, AppProject]:
        return {
            f"{one.metadata.namespace}/{one.metadata.name}": one for one in applications.projects()
        }

    return _of(PROJECT, found, _object_version, project_item)


StateOf = Callable[[Secret], ConnectionState | None]


def connection_source(kind: str, secrets: Secrets, state: StateOf) -> Source[Connection]:
    def found() -> Mapping[str, Connection]:
        connections = (connection_of(secret, state(secret)) for secret in secrets.all())
        return {f"{one.namespace}/{one.name}": one for one in connections if one.kind == kind}

    return _of(kind, found, _connection_version, connection_item)


def component_source(components: Callable[[], Mapping[str, Component]]) -> Source[Component]:
    return _of(COMPONENT, components, repr, component_item)


def instances_source(running: Callable[[], Mapping[str, Instances]]) -> Source[Instances]:
    return _of(INSTANCES, running, _value_version, instances_item)


def trust_source(kind: str, trust: Trust, namespace: str) -> Source[Trusted]:
    def shape(found: Trusted, stamp: Stamp, redaction: Redaction) -> Item:
        return trusted_item(found, namespace, stamp, redaction)

    def get(subject: str) -> Trusted | None:
        return trust.found(kind).get(subject)

    return Source(
        kind=kind,
        all=lambda: trust.found(kind),
        get=get,
        version=_value_version,
        shape=shape,
        known=lambda: trust.known(kind),
    )


def connection_of(secret: Secret, state: ConnectionState | None = None) -> Connection:
    """`kind` is empty where it is no connection."""
    return Connection(
        kind=_SECRET_KINDS.get(secret.labels.get(SECRET_TYPE, ""), ""),
        namespace=secret.namespace,
        name=secret.name,
        data=secret.data,
        state=state,
    )


def _of(
    kind: str,
    found: Callable[[], Mapping[str, T]],
    version: Callable[[T], str],
    shape: Callable[[T, Stamp, Redaction], Item],
) -> Source[T]:
    return Source(
        kind=kind, all=found, get=lambda one: found().get(one), version=version, shape=shape
    )


def _object_version(found: Application | AppProject) -> str:
    return f"{found.metadata.uid}:{found.metadata.resource_version}"


def _connection_version(found: Connection) -> str:
    return digest_of(repr((sorted(found.data.items()), found.state)).encode())


def _value_version(found: object) -> str:
    """Of a frozen value; of no use outside of this process."""
    return str(hash(found))
