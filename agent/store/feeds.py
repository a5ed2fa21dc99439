"""What the watches of our own namespace feed: Applications, projects and Secrets, into their index.

A sink hears every object of a list between `begin_list` and `end_list` and each change after that;
what a complete list did not name is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec

from agent.kube.watch import Subject
from agent.store.applications import Applications
from agent.store.secrets import Secrets
from bus.identity import AppKey
from handlers.application.application import Metadata

_GROUP = "/apis/argoproj.io/v1alpha1"


class _Named(msgspec.Struct, frozen=True):
    metadata: Metadata


def _nobody() -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Feed:
    """A sink of three functions; `keep_only` gets the names of a complete list."""

    put_one: Callable[[bytes], None]
    remove_one: Callable[[AppKey], None]
    keep_only: Callable[[set[AppKey]], None]
    forget: Callable[[], None] = _nobody
    """Called where the cluster was set back: versions that were known count no longer."""
    listed: Callable[[], None] = _nobody
    """Called after each complete list: the first one makes the store ready."""
    _seen: set[AppKey] | None = field(default=None, init=False)

    def begin_list(self) -> None:
        self._seen = set()

    def forget_versions(self) -> None:
        self.forget()

    def put(self, raw: bytes) -> None:
        if self._seen is not None:
            self._seen.add(_key(raw))
        self.put_one(raw)

    def remove(self, raw: bytes) -> None:
        self.remove_one(_key(raw))

    def end_list(self, resource_version: str) -> None:  # noqa: ARG002  part of the sink's protocol
        seen, self._seen = self._seen or set(), None
        self.keep_only(seen)
        self.listed()


def application_feed(applications: Applications) -> Feed:
    return Feed(
        put_one=applications.put_application,
        remove_one=applications.remove_application,
        keep_only=applications.keep_only,
        forget=applications.forget_versions,
    )


def project_feed(applications: Applications) -> Feed:
    return Feed(
        put_one=applications.put_project,
        remove_one=lambda key: applications.remove_project(key.name),
        keep_only=lambda keys: applications.keep_projects({key.name for key in keys}),
    )


def secret_feed(secrets: Secrets) -> Feed:
    return Feed(
        put_one=secrets.put,
        remove_one=lambda key: secrets.remove(key.name),
        keep_only=lambda keys: secrets.keep_only({key.name for key in keys}),
    )


def applications_of(namespace: str) -> Subject:
    path = f"{_GROUP}/namespaces/{namespace}/applications"
    return Subject(name="Application", path=path, query={})


def projects_of(namespace: str) -> Subject:
    path = f"{_GROUP}/namespaces/{namespace}/appprojects"
    return Subject(name="AppProject", path=path, query={})


def secrets_of(namespace: str) -> Subject:
    return Subject(name="Secret", path=f"/api/v1/namespaces/{namespace}/secrets", query={})


def _key(raw: bytes) -> AppKey:
    metadata = _NAMED.decode(raw).metadata
    return AppKey(metadata.namespace, metadata.name)


_NAMED = msgspec.json.Decoder(_Named, strict=False)
