"""The version that a target revision means among those of a chart or an artifact."""

from __future__ import annotations

from collections.abc import Sequence

from agent.download.failures import DownloadServer
from agent.similar_names import similar_names
from agent.version_range import VersionChoice
from bus.status import Reason
from handlers.application.version_range import is_pin
from handlers.ports import RepositoryError

LONGEST_TARGET = 256


def check_target(server: DownloadServer, target: str) -> None:
    """Refuse what cannot be a version, a tag, a digest or a range; raises RepositoryError."""
    if len(target) > LONGEST_TARGET:
        cause = (
            f"targetRevision has {len(target)} characters, more than the {LONGEST_TARGET} of any"
        )
        raise server.error(Reason.REVISION_NOT_FOUND, cause, "Name a version or a range of them")


async def chosen_version(
    server: DownloadServer,
    versions: VersionChoice,
    target: str,
    names: Sequence[str],
    *,
    project: str,
) -> str:
    """Choose a version as it is written in `names`; raises RepositoryError.

    A pin is the version of that name, with or without its `v`; anything else is a range.
    """
    if target in names:
        return target
    if is_pin(target):
        same = [one for one in names if one.removeprefix("v") == target.removeprefix("v")]
        if same:
            return same[0]
        raise absent(server, target, names)
    found = await versions.highest(target, names, project=project)
    if found is None:
        cause = f"targetRevision {target[:100]!r} is neither a version nor a range of versions"
        raise server.error(Reason.REVISION_NOT_FOUND, cause, "Write one as `1.2.3` or `^1.2`")
    if not found:
        raise absent(server, target, names)
    return found


def absent(server: DownloadServer, target: str, names: Sequence[str]) -> RepositoryError:
    similar = similar_names(target, names)
    there = f"; there are {', '.join(one[:50] for one in similar)}" if similar else ""
    what = "version" if is_pin(target) else "version in the range"
    cause = f"it has no {what} {target[:100]!r} among {len(names)} versions{there}"
    return server.error(Reason.REVISION_NOT_FOUND, cause, "Correct the version that is asked for")
