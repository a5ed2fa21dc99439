"""Errors of the ports: adapters translate foreign exceptions into these."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from bus.identity import RepositoryKey
from bus.status import Reason


class RepositoryError(Exception):
    """A repository or a revision in it cannot be read: `message` names URL, cause and remedy."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.repository: RepositoryKey | None = None
        """Which one it was, where the caller reads several; set by the caller."""


class FileNeededError(RepositoryError):
    """The content of a file is kept elsewhere: after `fetch` the same read succeeds."""

    def __init__(self, message: str, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__(Reason.FILE_NOT_FOUND, message)
        self.fetch = fetch
        """Raises RepositoryError."""


class UnavailableError(Exception):
    """Something that a comparison needs did not answer; the same call may succeed later."""


class ClusterUnreachableError(UnavailableError):
    """The API server did not answer; the same call may succeed later."""


class DestinationUnavailableError(ClusterUnreachableError):
    """A destination cluster cannot be used now; its Applications are asked again when it can.

    `pending`: the agent is still connecting to the cluster, and nothing has failed yet.
    """

    def __init__(self, message: str, *, pending: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.pending = pending


class DestinationUnknownError(Exception):
    """A destination names no usable cluster; the message names it, the cause and the remedy.

    `gone`: nothing describes such a cluster (any more), so nothing in it can be looked after.
    """

    def __init__(self, message: str, *, gone: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.gone = gone


class JqBusyError(UnavailableError):
    """The sandbox has too many expressions to evaluate; the same call may succeed later."""


class ApplyRefusedError(Exception):
    """The API server refused one object; `code` is its HTTP status, `message` its answer.

    `permanent` is False where the same call may succeed a moment later (a CRD not yet established,
    a namespace not there yet, 429, 5xx).
    """

    def __init__(self, message: str, *, code: int, permanent: bool = True) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.permanent = permanent


class StaleWriteError(Exception):
    """The Application changed since it was read: read it again."""


class RendererBusyError(Exception):
    """The renderer has too much of this kind to do: the same call may succeed after a while."""

    def __init__(self, message: str, *, after: float) -> None:
        super().__init__(message)
        self.message = message
        self.after = after
        """Seconds."""
