"""The watched Applications and AppProjects of the control namespace: the port `Apps`.

The cluster is the database; this is its index in memory. A write is a merge patch of what differs,
and its answer goes into the index before the call returns, so the next read of the same lane sees
it. An older watch event never overwrites a newer answer.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import structlog

from agent.clock import SystemClock
from agent.store.doubts import Doubts
from agent.store.patching import note_in, status_patch
from agent.store.users import Users
from bus.identity import AppKey, RepositoryKey
from handlers.application.application import (
    Application,
    AppProject,
    read_application,
    read_project,
    read_without_spec,
)
from handlers.application.defaults import DEFAULT_PROJECT
from handlers.command.handler import COMMANDS_ANNOTATION, with_command
from handlers.ports import (
    ApplyRefusedError,
    Clock,
    ClusterUnreachableError,
    StaleWriteError,
    StatusWrite,
)
from handlers.sync.transitions import COMMAND_ID

log = structlog.get_logger()

_REMEMBERED = 10_000
_CLOCK = SystemClock()

Listener = Callable[[Application | None, Application | None], None]
"""Called with what an Application was and is; None where it was not there."""

ProjectListener = Callable[[AppProject | None, AppProject | None], None]
"""Called with what an AppProject was and is."""

Indexed = Callable[[str, str], None]
"""Called with kind and `namespace/name` of whatever changed in the index, by our own writes too."""


class Patching(Protocol):
    """The one call this store makes: a merge patch of one Application; answers the new object."""

    async def patch_application(self, key: AppKey, patch: Mapping[str, Any]) -> bytes: ...


class Applications:
    """Index by key and by repository; the listeners hear of changes that others made."""

    def __init__(self, patching: Patching, clock: Clock = _CLOCK) -> None:
        self.listener: Listener = _nobody
        self.project_listener: ProjectListener = _nobody
        self.indexed: Indexed = _no_matter
        self.doubts = Doubts()
        self._patching = patching
        self._clock = clock
        self._apps: dict[AppKey, Application] = {}
        self._users = Users()
        self._projects: dict[str, AppProject] = {}
        self._malformed: dict[AppKey, str] = {}
        self._gone: OrderedDict[str, None] = OrderedDict()
        """UIDs that are gone: the answer to our own last write may come after the word of it."""

    # --- the port ---

    def get(self, key: AppKey) -> Application | None:
        return self._apps.get(key)

    def all(self) -> Sequence[Application]:
        return tuple(self._apps.values())

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        return tuple(self._apps[key] for key in self._users.of(repository))

    def repositories(self, delivery_key: str) -> Sequence[RepositoryKey]:
        return self._users.repositories(delivery_key)

    def project(self, name: str) -> AppProject | None:
        return self._projects.get(name) or (DEFAULT_PROJECT if name == "default" else None)

    def projects(self) -> Sequence[AppProject]:
        return tuple(self._projects.values())

    async def write(self, app: Application, change: StatusWrite) -> Application:
        patch = status_patch(app, change, self._clock.now())
        if not patch:
            return app
        try:
            written = await self._send(app, patch, guarded=change.guarded)
        except (ClusterUnreachableError, asyncio.CancelledError):
            self.doubts.add(app.key, note_in(patch), self._apps.get(app.key))
            raise
        self.doubts.settle(app.key)
        return written

    async def set_operation(self, app: Application, operation: Mapping[str, Any]) -> Application:
        current = self._apps.get(app.key, app)
        if current.operation is not None:
            raise StaleWriteError(f"{app.key} already has an operation")
        patch: dict[str, Any] = {"operation": operation}
        command = next((it["value"] for it in operation.get("info", ()) if _is_command(it)), "")
        if command:
            noted = {COMMANDS_ANNOTATION: with_command(current, command)}
            patch["metadata"] = {"annotations": noted}
        return await self._send(current, patch, guarded=True)

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
        return self._keep(self._read(answer)) or app

    # --- what the watch tells ---

    def put_application(self, raw: bytes) -> None:
        """Take one Application as the API server sent it; a malformed one keeps its reason."""
        app = self._read(raw)
        before = self._apps.get(app.key)
        if self._keep(app):
            self.listener(before, app)
            self.doubts.look(app)

    def remove_application(self, key: AppKey) -> None:
        self._malformed.pop(key, None)
        self.doubts.settle(key)
        before = self._apps.pop(key, None)
        if before is not None:
            self._bury(before.metadata.uid)
            self._users.change(before, None)
            self.listener(before, None)
            self.indexed("Application", str(key))

    def keep_only(self, keys: Iterable[AppKey]) -> None:
        """After a list: whatever it did not name is gone."""
        for key in set(self._apps) - set(keys):
            self.remove_application(key)

    def forget_versions(self) -> None:
        """The cluster was set back: what it says next is news, and what is gone may be back."""
        for key, app in self._apps.items():
            metadata = msgspec.structs.replace(app.metadata, resource_version="")
            self._apps[key] = msgspec.structs.replace(app, metadata=metadata)
        self._gone.clear()

    def put_project(self, raw: bytes) -> None:
        try:
            project = read_project(raw)
        except msgspec.ValidationError as error:
            log.warning("project is malformed and not used", error=str(error))
            return
        before = self._projects.get(project.metadata.name)
        self._projects[project.metadata.name] = project
        self._tell_project(project)
        self.project_listener(before, project)

    def remove_project(self, name: str) -> None:
        gone = self._projects.pop(name, None)
        if gone is not None:
            self._tell_project(gone)
            self.project_listener(gone, None)

    def keep_projects(self, names: set[str]) -> None:
        for name in set(self._projects) - names:
            self.remove_project(name)

    def _tell_project(self, project: AppProject) -> None:
        self.indexed("AppProject", f"{project.metadata.namespace}/{project.metadata.name}")

    def problem(self, key: AppKey) -> str:
        return self._malformed.get(key, "")

    def _read(self, raw: bytes) -> Application:
        """Read an Application; of a malformed one its status, which says what is wrong with it."""
        try:
            app = read_application(raw)
        except msgspec.ValidationError as error:
            app = read_without_spec(raw)
            self._malformed[app.key] = str(error)
            log.warning("application is malformed", app=str(app.key), problem=str(error))
        else:
            self._malformed.pop(app.key, None)
        return app

    def _keep(self, app: Application) -> Application | None:
        """Index `app` unless it is gone or something newer is known; None where it is not news."""
        if app.metadata.uid in self._gone:
            return None
        before = self._apps.get(app.key)
        if before is not None and not _newer(app, before):
            return None
        self._apps[app.key] = app
        self._users.change(before, app)
        self.indexed("Application", str(app.key))
        return app

    def _bury(self, uid: str) -> None:
        self._gone[uid] = None
        while len(self._gone) > _REMEMBERED:
            self._gone.popitem(last=False)


def _is_command(info: Mapping[str, str]) -> bool:
    return info.get("name") == COMMAND_ID


def _nobody(before: object, after: object) -> None:
    """Until somebody listens."""


def _no_matter(kind: str, subject: str) -> None:
    """Until somebody reports."""


def _newer(app: Application, before: Application) -> bool:
    """A recreated object is newer whatever its version; versions of one object are numbers."""
    if app.metadata.uid != before.metadata.uid:
        return True
    return int(app.metadata.resource_version or 0) > int(before.metadata.resource_version or 0)
