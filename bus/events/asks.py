"""Asks: reasons to look again. What is true is read from Git and the cluster by the room itself."""

from __future__ import annotations

from typing import ClassVar

from bus.events.event import Ask
from bus.identity import AppKey, RepositoryKey


class RefreshRepository(Ask, frozen=True, kw_only=True):
    """Fetch the repository and find what its new commits touch."""

    name: ClassVar[str] = "refresh.v1"
    repository: RepositoryKey
    ref: str = ""
    """A hint for logs: the ref that was pushed; the room looks at all refs in use."""

    @property
    def key(self) -> RepositoryKey:
        return self.repository


class RefreshApp(Ask, frozen=True, kw_only=True):
    """Resolve and render the application's source again; `hard` ignores every cache."""

    name: ClassVar[str] = "render.v1"
    app: AppKey
    hard: bool = False

    @property
    def key(self) -> AppKey:
        return self.app


class CompareApp(Ask, frozen=True, kw_only=True):
    """Pair desired and live again: something in the cluster changed."""

    name: ClassVar[str] = "compare.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app


class StepOperation(Ask, frozen=True, kw_only=True):
    """Take the next step of the application's operation, starting it where it is only intended."""

    name: ClassVar[str] = "step.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app


class AssessApp(Ask, frozen=True, kw_only=True):
    """Aggregate the health of the application's objects again."""

    name: ClassVar[str] = "assess.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app


class DeleteApp(Ask, frozen=True, kw_only=True):
    """The Application is being deleted with our finalizer: delete what it deployed, by waves."""

    name: ClassVar[str] = "delete.v1"
    app: AppKey

    @property
    def key(self) -> AppKey:
        return self.app
