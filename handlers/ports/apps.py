"""The Apps port: the watched Applications and projects, and small writes to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, Protocol

import msgspec

from bus.events import Event
from bus.identity import AppKey, RepositoryKey
from handlers.application.application import Application, AppProject
from handlers.application.spec import HelmSource, Source
from handlers.application.status import ApplicationStatus


class StatusWrite(msgspec.Struct, frozen=True, kw_only=True):
    """One small write to an Application: only what differs is sent, nothing if nothing does."""

    status: ApplicationStatus
    clear_operation: bool = False
    """Remove `.operation`: it has moved to `status.operationState`."""
    remove_annotations: tuple[str, ...] = ()
    annotations: Mapping[str, str] = {}
    """Annotations to set."""
    add_finalizers: tuple[str, ...] = ()
    remove_finalizers: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    """Events to publish for this write; facts among them are noted in it, in case of a crash."""
    guarded: bool = False
    """Raise StaleWriteError if the object changed since `app` was read."""


class SourceGroup(NamedTuple):
    """What decides how a repository is read: Applications that share it are fetched together."""

    repo_url: str
    project: str
    target_revision: str
    namespace: str = ""
    """Of the Applications: their project may not admit it."""
    chart: str = ""
    pass_credentials: bool = False
    is_dry: bool = False
    """Whether it is the dry source of a hydrator: rendered into a branch, and not deployed."""

    @property
    def source(self) -> Source:
        """The source as far as it decides which repository is read."""
        helm = HelmSource(pass_credentials=True) if self.pass_credentials else None
        return Source(repo_url=self.repo_url, chart=self.chart, helm=helm)


class SourceFollowers(NamedTuple):
    """The Applications of a group; those that are being deleted follow nothing."""

    group: SourceGroup
    apps: AbstractSet[AppKey]


class FollowedRepositories(Protocol):
    """The repositories in use, for a timer that needs no more than their list."""

    def followed_repositories(self) -> Sequence[RepositoryKey]: ...


class AllApps(Protocol):
    """The watched Applications, for a reader that needs no more than the list of them."""

    def all(self) -> Sequence[Application]: ...


class ApplicationLookup(Protocol):
    """The applications and projects of the control namespace, by name."""

    def get(self, key: AppKey) -> Application | None: ...
    def project(self, name: str) -> AppProject | None:
        """The project of the control namespace; `default` exists always and permits everything."""
        ...


class Apps(ApplicationLookup, AllApps, FollowedRepositories, Protocol):
    """The watched Applications and projects. A write goes through: the next read sees it."""

    def problem(self, key: AppKey) -> str:
        """Why the Application cannot be read (field, expectation); empty where it can."""
        ...

    def followers(self, repository: RepositoryKey) -> Sequence[SourceFollowers]:
        """Group who follows a repository with its source; of several sources the first counts."""
        ...

    @property
    def naming_commit(self) -> AbstractSet[AppKey]:
        """Applications whose source uses the commit's id by way of the build environment."""
        ...

    @property
    def in_error(self) -> AbstractSet[AppKey]:
        """Applications with a ComparisonError."""
        ...

    async def write(self, app: Application, change: StatusWrite) -> Application:
        """Raises StaleWriteError or ClusterUnreachableError; a vanished app is none.

        Stale is a write that is guarded or changes finalizers, where the object changed meanwhile.
        """
        ...

    async def set_operation(self, app: Application, operation: Mapping[str, Any]) -> Application:
        """Write `.operation` if there is none: raises StaleWriteError where there is."""
        ...
