"""The tag that a target revision chooses, where it is a range of versions."""

from __future__ import annotations

from collections.abc import Sequence

from agent.git.refs import TAGS
from agent.version_range import VersionChoice
from handlers.application.target_revision import prefix_and_range
from handlers.application.version_range import may_be_range


def is_range(target: str) -> bool:
    """Whether the target revision may be a range, for which the tags have to be read."""
    return may_be_range(prefix_and_range(target)[1])


async def chosen_tag(
    choice: VersionChoice, target: str, tags: Sequence[str], *, project: str
) -> str:
    """The whole name of the highest tag in the range; empty where none is, or it is no range."""
    prefix, wanted = prefix_and_range(target)
    versions = [one.removeprefix(prefix) for one in tags if one.startswith(prefix)]
    chosen = await choice.highest(wanted, versions, project=project)
    return TAGS + prefix + chosen if chosen else ""
