"""Whether a folder that a commit does not have may be in a newer commit of its repository. Pure.

An Application is often created together with its folder, and no webhook may tell of that commit. So
the repository is looked at once more, where the last look can be older than the Application, or is
older than a moment in any case: somebody may just have changed the Application. Whoever asks again
and again for a folder that nobody has costs one fetch for each such moment.
"""

from __future__ import annotations

from datetime import datetime

from bus.status import Reason
from handlers.application import times
from handlers.application.application import Application
from handlers.ports.rendering import RenderError

SHORTEST_WAIT = 5.0
"""Seconds in which the same repository is not looked at again for it."""


def may_be_newer(
    app: Application, error: RenderError, looked_at: datetime | None, now: datetime
) -> bool:
    """Say whether another fetch may show the folder; `looked_at` is when the last one began."""
    if error.reason is not Reason.PATH_NOT_FOUND:
        return False
    if looked_at is None or (now - looked_at).total_seconds() >= SHORTEST_WAIT:
        return True
    created = times.read(app.metadata.creation_timestamp)
    return created is not None and looked_at <= created
