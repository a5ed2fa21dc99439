"""StateSource: for each reported kind, where its objects are found and how one becomes an item.

A new kind is one function here. Sources answer from memory. An object's `version` changes whenever
the object does, so that the item of an unchanged object is made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from agent.bridge.reporting.connection_states import is_our_cluster, own_cluster
from agent.bridge.reporting.trust_watch import TrustWatch
from agent.git.credentials import SECRET_TYPE, Secret
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from bus.events import Commit
from bus.identity import AppKey, digest_of
from bus.link import OBJECT_KINDS, LinkItem
from bus.link.kinds import (
    APPLICATION,
    CLUSTER,
    COMPONENT,
    INSTANCES,
    PROJECT,
)
from bus.status import Cause
from handlers.application.application import Application, AppProject
from handlers.report.connection_items import (
    ComponentItem,
    ConnectionItem,
    ConnectionState,
    component_item,
    connection_item,
    trusted_item,
)
from handlers.report.instances import Instances, instances_item
from handlers.report.items import ItemStamp, ReportedApplication, application_item, project_item
from handlers.report.redaction import Redaction
from handlers.trust.trusted import Trusted

T = TypeVar("T")
_SECRET_KINDS = {kind.secret_type: kind.name for kind in OBJECT_KINDS if kind.secret_type}


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSource(Generic[T]):
    """The objects of one kind, by subject."""

    kind: str
    all: Callable[[], Mapping[str, T]]
    get: Callable[[str], T | None]
    version: Callable[[T], str]
    shape: Callable[[T, ItemStamp, Redaction], LinkItem]
    is_complete: Callable[[], bool] = lambda: True
    """Whether `all` knows every object; until then the kind is not compared with the service."""


def application_source(
    applications: Applications,
    causes: Callable[[], Mapping[str, Cause]],
    commits: Callable[[], Mapping[str, Mapping[str, Commit]]],
) -> StateSource[ReportedApplication]:
    def reported(app: Application) -> ReportedApplication:
        subject = str(app.key)
        of_it = commits().get(subject, {})
        return ReportedApplication(app=app, cause=causes().get(subject), commits=of_it)

    def get(subject: str) -> ReportedApplication | None:
        namespace, _, name = subject.partition("/")
        app = applications.get(AppKey(namespace, name)) if name else None
        return reported(app) if app is not None else None

    return StateSource(
        kind=APPLICATION.name,
        all=lambda: {str(app.key): reported(app) for app in applications.all()},
        get=get,
        version=_reported_version,
        shape=application_item,
    )


def project_source(applications: Applications) -> StateSource[AppProject]:
    def found() -> Mapping[str, AppProject]:
        return {
            f"{one.metadata.namespace}/{one.metadata.name}": one for one in applications.projects()
        }

    return _of(PROJECT.name, found, _object_version, project_item)


StateOf = Callable[[Secret], ConnectionState | None]


def connection_source(
    kind: str, secrets: ArgoSecrets, state: StateOf
) -> StateSource[ConnectionItem]:
    def found() -> Mapping[str, ConnectionItem]:
        return _connections(kind, secrets.all(), state)

    return _of(kind, found, _connection_version, connection_item)


def cluster_source(
    secrets: ArgoSecrets, state: StateOf, namespace: str
) -> StateSource[ConnectionItem]:
    """Clusters; the agent's own is included even if no Secret describes it, as in Argo CD."""

    def found() -> Mapping[str, ConnectionItem]:
        described = tuple(secrets.all())
        own = () if any(map(is_our_cluster, described)) else (own_cluster(namespace),)
        return _connections(CLUSTER.name, (*own, *described), state)

    return _of(CLUSTER.name, found, _connection_version, connection_item)


def _connections(
    kind: str, secrets: Iterable[Secret], state: StateOf
) -> Mapping[str, ConnectionItem]:
    """Connections of `kind` by `namespace/name`; the last of equal names counts."""
    connections = (connection_of(secret, state(secret)) for secret in secrets)
    return {f"{one.namespace}/{one.name}": one for one in connections if one.kind == kind}


def component_source(
    components: Callable[[], Mapping[str, ComponentItem]],
) -> StateSource[ComponentItem]:
    return _of(COMPONENT.name, components, repr, component_item)


def instances_source(running: Callable[[], Mapping[str, Instances]]) -> StateSource[Instances]:
    return _of(INSTANCES.name, running, _value_version, instances_item)


def trust_source(kind: str, trust: TrustWatch, namespace: str) -> StateSource[Trusted]:
    def shape(found: Trusted, stamp: ItemStamp, redaction: Redaction) -> LinkItem:
        return trusted_item(found, namespace, stamp, redaction)

    def get(subject: str) -> Trusted | None:
        return trust.entries(kind).get(subject)

    return StateSource(
        kind=kind,
        all=lambda: trust.entries(kind),
        get=get,
        version=_value_version,
        shape=shape,
        is_complete=lambda: trust.is_complete(kind),
    )


def connection_of(secret: Secret, state: ConnectionState | None = None) -> ConnectionItem:
    """The connection that a Secret describes; `kind` is empty if it describes none."""
    return ConnectionItem(
        kind=_SECRET_KINDS.get(secret.labels.get(SECRET_TYPE, ""), ""),
        namespace=secret.namespace,
        name=secret.name,
        data=secret.data,
        uid=secret.uid,
        resource_version=secret.resource_version,
        state=state,
    )


def _of(
    kind: str,
    found: Callable[[], Mapping[str, T]],
    version: Callable[[T], str],
    shape: Callable[[T, ItemStamp, Redaction], LinkItem],
) -> StateSource[T]:
    return StateSource(
        kind=kind, all=found, get=lambda one: found().get(one), version=version, shape=shape
    )


def _object_version(found: Application | AppProject) -> str:
    return f"{found.metadata.uid}:{found.metadata.resource_version}"


def _reported_version(found: ReportedApplication) -> str:
    commits = _value_version(tuple(found.commits.items()))
    return f"{_object_version(found.app)}:{_value_version(found.cause)}:{commits}"


def _connection_version(found: ConnectionItem) -> str:
    """Version without the number of watched objects, which changes all the time."""
    state = msgspec.structs.replace(found.state, objects=0) if found.state else None
    return digest_of(repr((sorted(found.data.items()), state)).encode())


def _value_version(found: object) -> str:
    """Version of a frozen value, valid in this process only."""
    return str(hash(found))
