"""ApplicationIndex holds the newest known Applications, by key, by repository and by source.

Two sources race: the answers to our writes and the events of the watch. The newer version wins, and
a late answer about a deleted object does not bring it back.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

import msgspec

from agent.store.application_writes import version_of
from agent.store.repository_users import RepositoryUsers
from agent.store.source_followers import FollowerIndex
from bus.identity import AppKey, RepositoryKey
from handlers.application.application import Application

_REMEMBERED = 10_000


def everything(_key: AppKey) -> bool:
    return True


class ApplicationIndex:
    def __init__(self) -> None:
        self.users = RepositoryUsers()
        self.followers = FollowerIndex()
        self._apps: dict[AppKey, Application] = {}
        self._owns: Callable[[AppKey], bool] = everything
        self._deleted: OrderedDict[str, None] = OrderedDict()
        """UIDs of deleted objects: the answer to our last write may come after the deletion."""

    def get(self, key: AppKey) -> Application | None:
        return self._apps.get(key)

    def all(self) -> Sequence[Application]:
        return tuple(self._apps.values())

    def of_repository(self, repository: RepositoryKey) -> Sequence[Application]:
        return tuple(self._apps[key] for key in self.users.of(repository))

    def put(self, app: Application) -> bool:
        """Index `app`; False where it is deleted, or not newer than the indexed one."""
        before = self._apps.get(app.key)
        is_outdated = before is not None and not _newer(app, before)
        if app.metadata.uid in self._deleted or is_outdated:
            return False
        self._apps[app.key] = app
        self.users.change(before, app)
        self._follow(before, app)
        return True

    def pop(self, key: AppKey, *, is_deleted: bool) -> Application | None:
        """Let go of an Application, for ever where it is deleted; None where it is not known."""
        before = self._apps.pop(key, None)
        if before is not None:
            self.users.change(before, None)
            self._follow(before, None)
            if is_deleted:
                self._note_deleted(before.metadata.uid)
        return before

    def follow_only(self, owns: Callable[[AppKey], bool]) -> None:
        """Follow sources for these Applications alone; call it whenever they are others."""
        for app in self._apps.values():
            self._follow(app, None)
        self._owns = owns
        for app in self._apps.values():
            self._follow(None, app)

    def forget_versions(self) -> None:
        """Accept any version next: the cluster was restored, and deleted objects may be back."""
        for key, app in self._apps.items():
            metadata = msgspec.structs.replace(app.metadata, resource_version="")
            self._apps[key] = msgspec.structs.replace(app, metadata=metadata)
        self._deleted.clear()

    def _follow(self, before: Application | None, after: Application | None) -> None:
        here = after or before
        if here is not None and self._owns(here.key):
            self.followers.change(before, after)

    def _note_deleted(self, uid: str) -> None:
        self._deleted[uid] = None
        while len(self._deleted) > _REMEMBERED:
            self._deleted.popitem(last=False)


def _newer(app: Application, before: Application) -> bool:
    """Compare versions of one object, which are numbers; a recreated object is always newer."""
    if app.metadata.uid != before.metadata.uid:
        return True
    return version_of(app) > version_of(before)
