"""A deletion that was cut off and is done again takes no object that was created since."""

from __future__ import annotations

from typing import Any, cast

import pytest

from agent.bridge.tasks.live_objects.changes import was_deleted
from agent.bridge.tasks.live_objects.task_object import TaskObject
from agent.bridge.tasks.task_context import TaskFailedError
from bus.identity import ResourceKey
from bus.link import TaskPhase


def found(uid: str) -> TaskObject:
    nothing = cast("Any", None)
    return TaskObject(
        app=nothing,
        session=nothing,
        client=nothing,
        writer=nothing,
        redaction=nothing,
        tracking_label="",
        key=ResourceKey("", "ConfigMap", "shop", "settings"),
        path="",
        manifest={"metadata": {"name": "settings", "uid": uid}},
        owned=(),
    )


def test_a_repeated_deletion_leaves_the_successor_alone() -> None:
    assert was_deleted(found("second"), "first")
    assert not was_deleted(found("first"), "first")


def test_a_repeated_deletion_without_a_uid_deletes_nothing() -> None:
    with pytest.raises(TaskFailedError, match="names no uid") as caught:
        was_deleted(found("second"), "")
    assert caught.value.phase is TaskPhase.UNKNOWN
