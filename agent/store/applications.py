"""Applications is the index of the control namespace's Applications and AppProjects: port `Apps`.

The cluster is the database; the index is in memory. A write is a merge patch of what differs,
and its answer goes into the index before the call returns, so the next read of the same lane sees
it. An older watch event never overwrites a newer answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from agent.clock import SystemClock
from agent.store.application_index import ApplicationIndex, everything
from agent.store.application_writes import (
    UnconfirmedWrites,
    journal_entry_in,
    operation_patch,
    status_patch,
    with_own_changes,
)
from agent.store.object_reader import ArgoResourceReader
from agent.store.projects import Projects
from agent.subscribers import Subscribers
from bus.identity import AppKey, RepositoryKey
from bus.link.kinds import APPLICATION, PROJECT
from handlers.application.application import (
    Application,
    AppProject,
)
from handlers.ports import (
    ApplyRefusedError,
    Clock,
    ClusterUnreachableError,
    SourceFollowers,
    StaleWriteError,
    StatusWrite,
)

_CLOCK = SystemClock()


class Patching(Protocol):
    """The store's only write: a merge patch of one Application; returns the new object."""

    async def patch_application(self, key: AppKey, patch: Mapping[str, Any]) -> bytes: ...


class Applications:
    """An index by key and by repository; `changes` are those that others made."""

    def __init__(
        self,
        patching: Patching,
        clock: Clock = _CLOCK,
        projects: Projects | None = None,
        *,
        guards_operations: bool = False,
    ) -> None:
        """`guards_operations`: who has missed a write of others writes no state of an operation."""
        self.changes = Subscribers[[Application | None, Application | None]]()
        """Called with an Application before and after; None where it is absent."""
        self.project_changes = Subscribers[[AppProject | None, AppProject | None]]()
        """Called with an AppProject before and after."""
        self.indexed = Subscribers[[str, str]]()
        """Called with kind and `namespace/name` of each changed object, own writes included."""
        self.unconfirmed = UnconfirmedWrites()
        self._patching = patching
        self._guards_operations = guards_operations
        self._clock = clock
        self._index = ApplicationIndex()
        self._projects = projects or Projects()
        self._reader = ArgoResourceReader()

    # --- the port ---

    def get(self, key: AppKey) -> Application | None:
        return self._index.get(key)

    def all(self) -> Sequence[Application]:
        return self._index.all()

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        return self._index.of_repository(repository)

    def followed_repositories(self) -> Sequence[RepositoryKey]:
        return self._index.followers.repositories()

    def followers(self, repository: RepositoryKey) -> Sequence[SourceFollowers]:
        return self._index.followers.of(repository)

    @property
    def naming_commit(self) -> AbstractSet[AppKey]:
        return self._index.followers.naming_commit

    @property
    def in_error(self) -> AbstractSet[AppKey]:
        return self._index.followers.in_error

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        return self._index.users.repositories(delivery_key)

    def project(self, name: str) -> AppProject | None:
        return self._projects.get(name)

    def projects(self) -> Sequence[AppProject]:
        """List the projects as they are written, without what is global for them."""
        return self._projects.written()

    def is_global_project(self, name: str) -> bool:
        return self._projects.is_global(name)

    async def write(self, app: Application, change: StatusWrite) -> Application:
        patch = status_patch(app, change, self._clock.now())
        if not patch:
            return app
        is_stale = self.unconfirmed.is_unseen_by(app)
        # A patch has the whole list of finalizers, so it must not be made of an outdated one.
        replaces_list = "finalizers" in patch.get("metadata", {})
        try:
            guarded = change.guarded or replaces_list or is_stale
            if not guarded and self._guards_operations and _is_of_operation(patch):
                app, guarded = self._index.get(app.key) or app, True
            written = await self._send(app, patch, guarded=guarded)
        except StaleWriteError as error:
            if change.guarded or replaces_list:
                raise
            text = f"an earlier write of {app.key} was stored, which this one has not seen"
            raise ClusterUnreachableError(text) from error
        except (ClusterUnreachableError, asyncio.CancelledError):
            # The server may have stored the write: the watch will show whether it did.
            self.unconfirmed.add(app.key, journal_entry_in(patch), self._index.get(app.key))
            raise
        self.unconfirmed.settle(app.key)
        return written

    async def set_operation(self, app: Application, operation: Mapping[str, Any]) -> Application:
        current = self._index.get(app.key) or app
        if current.operation is not None:
            raise StaleWriteError(f"{app.key} already has an operation")
        return await self._send(current, operation_patch(current, operation), guarded=True)

    async def _send(self, app: Application, patch: dict[str, Any], *, guarded: bool) -> Application:
        if guarded:
            metadata = patch.setdefault("metadata", {})
            metadata["resourceVersion"] = app.metadata.resource_version
        try:
            answer = await self._patching.patch_application(app.key, patch)
        except ApplyRefusedError as refusal:
            if refusal.code == 404:
                return app
            if refusal.code == 409:
                raise StaleWriteError(f"{app.key} changed since it was read") from refusal
            raise
        return self._take_answer(self._reader.application(answer), patch) or app

    def _take_answer(self, written: Application, patch: Mapping[str, Any]) -> Application | None:
        """Index the answer to our own write, and tell what others have changed since the last look.

        The watch shows their change too, but too late: what is indexed is as new by then.
        """
        before = self._index.get(written.key)
        if not self._keep(written):
            return None
        if before is not None:
            self.changes.notify(with_own_changes(before, written, patch), written)
        return written

    # --- events of the watch ---

    def put_application(self, raw: bytes) -> None:
        """Take one Application as the API server sent it; a malformed one keeps its reason."""
        app = self._reader.application(raw)
        before = self._index.get(app.key)
        if self._keep(app):
            self.changes.notify(before, app)
            self.unconfirmed.confirm(app)

    def remove_application(self, key: AppKey) -> None:
        self._reader.forget(key)
        self.unconfirmed.settle(key)
        before = self._index.pop(key, is_deleted=True)
        if before is not None:
            self.changes.notify(before, None)
            self.indexed.notify(APPLICATION.name, str(key))

    def keep_only(
        self, keys: Iterable[AppKey], listed: Callable[[AppKey], bool] = everything
    ) -> None:
        """Remove, after a complete list of what is `listed`, the Applications not named in it."""
        for key in set(filter(listed, self._keys())) - set(keys):
            self.remove_application(key)

    def release(self, is_released: Callable[[AppKey], bool]) -> None:
        """Let go of Applications that are followed no longer: they are there, and not deleted."""
        for key in tuple(filter(is_released, self._keys())):
            self._reader.forget(key)
            self.unconfirmed.settle(key)
            self._index.pop(key, is_deleted=False)
            self.indexed.notify(APPLICATION.name, str(key))

    def follow_only(self, owns: Callable[[AppKey], bool]) -> None:
        """Follow sources for these Applications alone; call it whenever they are others."""
        self._index.follow_only(owns)

    def forget_versions(self) -> None:
        """Accept any version next: the cluster was restored, and deleted objects may be back."""
        self._index.forget_versions()

    def _keys(self) -> Iterator[AppKey]:
        return (app.key for app in self._index.all())

    def put_project(self, raw: bytes) -> None:
        project = self._reader.project(raw)
        if project is None:
            return
        before = self._projects.put(project)
        self._report_project(project)
        self.project_changes.notify(before, project)

    def remove_project(self, name: str) -> None:
        removed = self._projects.remove(name)
        if removed is not None:
            self._report_project(removed)
            self.project_changes.notify(removed, None)

    def keep_projects(self, names: set[str]) -> None:
        for name in self._projects.names() - names:
            self.remove_project(name)

    def _report_project(self, project: AppProject) -> None:
        self.indexed.notify(PROJECT.name, f"{project.metadata.namespace}/{project.metadata.name}")

    def problem(self, key: AppKey) -> str:
        return self._reader.problem(key)

    def _keep(self, app: Application) -> bool:
        """Index `app`, and report it; False where what is known is newer."""
        kept = self._index.put(app)
        if kept:
            self.indexed.notify(APPLICATION.name, str(app.key))
        return kept


def _is_of_operation(patch: Mapping[str, Any]) -> bool:
    return "operationState" in patch.get("status", {})
