"""Feeds bring the watches of the control namespace into the indexes of their kinds.

A sink gets every object of a list between `begin_list` and `end_list` and each change after that;
objects that a complete list did not name are removed. ApplicationSets have no index: they are not
acted on yet, and each is logged once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from agent.kube.core_api import secrets_path
from agent.kube.watch import WatchTarget
from agent.store.applications import Applications
from agent.store.argo_secrets import ArgoSecrets
from bus.identity import AppKey
from handlers.application.application import read_metadata

log = structlog.get_logger()

_GROUP = "/apis/argoproj.io/v1alpha1"
REMEDY = "Write the Applications themselves, or keep the controller that makes them."


def _ignore() -> None:
    """The callback of a feed that needs none."""


@dataclass(slots=True)
class StoreFeed:
    """A sink of three functions; `keep_only` gets the names of a complete list."""

    put_one: Callable[[bytes], None]
    remove_one: Callable[[AppKey], None]
    keep_only: Callable[[set[AppKey]], None]
    forget: Callable[[], None] = _ignore
    """Called when the cluster was restored: known versions count no longer."""
    listed: Callable[[], None] = _ignore
    """Called after each complete list: the first one makes the store ready."""
    _seen: set[AppKey] | None = field(default=None, init=False)

    def begin_list(self) -> None:
        self._seen = set()

    def forget_versions(self) -> None:
        self.forget()

    def put(self, raw: bytes) -> None:
        if self._seen is not None:
            self._seen.add(key_of(raw))
        self.put_one(raw)

    def remove(self, raw: bytes) -> None:
        self.remove_one(key_of(raw))

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        seen, self._seen = self._seen or set(), None
        self.keep_only(seen)
        self.listed()


def key_of(raw: bytes) -> AppKey:
    """Return namespace and name of an object, whatever its kind."""
    metadata = read_metadata(raw)
    return AppKey(metadata.namespace, metadata.name)


def application_feed(
    applications: Applications, namespace: str, listed: Callable[[], None] = _ignore
) -> StoreFeed:
    """Feed the Applications of the control namespace; those of others have feeds of their own."""

    def keep_only(keys: set[AppKey]) -> None:
        applications.keep_only(keys, lambda key: key.namespace == namespace)

    return StoreFeed(
        put_one=applications.put_application,
        remove_one=applications.remove_application,
        keep_only=keep_only,
        forget=applications.forget_versions,
        listed=listed,
    )


def project_feed(applications: Applications, listed: Callable[[], None] = _ignore) -> StoreFeed:
    return StoreFeed(
        put_one=applications.put_project,
        remove_one=lambda key: applications.remove_project(key.name),
        keep_only=lambda keys: applications.keep_projects({key.name for key in keys}),
        listed=listed,
    )


def secret_feed(secrets: ArgoSecrets, listed: Callable[[], None] = _ignore) -> StoreFeed:
    return StoreFeed(
        put_one=secrets.put,
        remove_one=lambda key: secrets.remove(key.name),
        keep_only=lambda keys: secrets.keep_only({key.name for key in keys}),
        listed=listed,
    )


def applications_of(namespace: str) -> WatchTarget:
    path = f"{_GROUP}/namespaces/{namespace}/applications"
    return WatchTarget(name="Application", path=path, query={})


def projects_of(namespace: str) -> WatchTarget:
    path = f"{_GROUP}/namespaces/{namespace}/appprojects"
    return WatchTarget(name="AppProject", path=path, query={})


def application_sets_of(namespace: str) -> WatchTarget:
    path = f"{_GROUP}/namespaces/{namespace}/applicationsets"
    return WatchTarget(name="ApplicationSet", path=path, query={})


def secrets_of(namespace: str) -> WatchTarget:
    return WatchTarget(name="Secret", path=secrets_path(namespace), query={})


@dataclass(slots=True)
class ApplicationSets:
    """The ApplicationSets of the control namespace are not acted on yet; each is logged once.

    Without the right to read them, or without the kind, no line is written.

    The present ApplicationSets; one that comes back is logged again.
    """

    now: set[AppKey] = field(default_factory=set)

    def feed(self) -> StoreFeed:
        return StoreFeed(put_one=self._put, remove_one=self.now.discard, keep_only=self._keep_only)

    def _put(self, raw: bytes) -> None:
        key = key_of(raw)
        if key not in self.now:
            self.now.add(key)
            log.warning("no Applications are made of this ApplicationSet", set=str(key), do=REMEDY)

    def _keep_only(self, keys: set[AppKey]) -> None:
        self.now.intersection_update(keys)
