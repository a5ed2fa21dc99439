"""Which applications a look at a repository concerns, and how long to wait when it failed. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime

from bus.identity import RepositoryKey, Revision
from bus.status import ConditionType
from handlers.application import times
from handlers.application.application import Application
from handlers.application.conditions import of_type
from handlers.ports import Tree
from handlers.render.environment import names_revision
from handlers.render.readset import holds
from handlers.render.recipe import RenderRecord

SHORTEST_WAIT = 2.0
LONGEST_WAIT = 180.0


def watching(apps: Iterable[Application], repository: RepositoryKey) -> list[Application]:
    """Those of `apps` that are looked at. With several sources only the first one counts."""
    return [
        app
        for app in apps
        if app.source is not None
        and not app.deleting
        and (not app.spec.sources or app.repository == repository)
    ]


def by_target_revision(apps: Iterable[Application]) -> Mapping[str, list[Application]]:
    """By what their source follows."""
    found: dict[str, list[Application]] = defaultdict(list)
    for app in apps:
        if (source := app.source) is not None:
            found[source.target_revision].append(app)
    return found


def unsettled(app: Application, record: RenderRecord | None, repository: RepositoryKey) -> bool:
    """Rendered never, elsewhere, or not well: to be tried again whatever a commit touched."""
    if record is None or record.repository != repository:
        return True
    conditions = app.status.conditions
    return bool(conditions and of_type(conditions, ConditionType.COMPARISON_ERROR))


def depends_on_commit(app: Application) -> bool:
    """Whether the source itself says the commit's id, by the build environment."""
    return (source := app.source) is not None and names_revision(source)


def outdated(app: Application, record: RenderRecord, now: tuple[Revision, Tree]) -> bool:
    """Whether the commit looks different to the render, or the render says another one's id."""
    revision, tree = now
    if record.revision != revision and depends_on_commit(app):
        return True
    return not holds(record.read_set, tree)


def wait(apps: Iterable[Application], message: str, now: datetime) -> float:
    """Seconds until the next try: as long again as it has failed so far, within bounds.

    Since when is read from the conditions that say `message`, so a restart forgets nothing.
    """
    begun = (
        times.since(one.last_transition_time, now)
        for app in apps
        for one in of_type(app.status.conditions, ConditionType.COMPARISON_ERROR)
        if one.message == message
    )
    longest = max((seconds for seconds in begun if seconds is not None), default=0.0)
    return min(max(longest, SHORTEST_WAIT), LONGEST_WAIT)
