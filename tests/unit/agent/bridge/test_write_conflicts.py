"""A write that meets a write of others is done again on what is there by then."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from agent.bridge.tasks.executors.write_conflicts import repeated_on_conflict
from agent.bridge.tasks.task_context import TaskFailedError
from agent.kube.errors import ConflictError


def contended(conflicts: int) -> Callable[[], Awaitable[int]]:
    """A write that fails that often, and returns then how often it was done."""
    done = 0

    async def write() -> int:
        nonlocal done
        done += 1
        if done <= conflicts:
            raise ConflictError("the object has been modified", code=409, permanent=False)
        return done

    return write


@pytest.mark.parametrize("conflicts", [0, 1, 4])
async def test_a_write_is_repeated_until_nobody_writes_in_between(conflicts: int) -> None:
    assert await repeated_on_conflict("shop/web", contended(conflicts)) == conflicts + 1


async def test_an_object_that_others_write_all_the_time_is_a_conflict_that_names_it() -> None:
    with pytest.raises(TaskFailedError, match=r"shop/web .* 5 times") as failed:
        await repeated_on_conflict("shop/web", contended(5))
    assert failed.value.code == "conflict"


async def test_a_precondition_that_fails_is_not_asked_again() -> None:
    asked = 0

    async def refused() -> None:
        nonlocal asked
        asked += 1
        raise TaskFailedError("conflict", "shop/web changed after it was read")

    with pytest.raises(TaskFailedError, match="after it was read"):
        await repeated_on_conflict("shop/web", refused)
    assert asked == 1
