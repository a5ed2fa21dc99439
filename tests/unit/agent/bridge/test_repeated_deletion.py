"""A deletion that was cut off and is done again takes no object that was created since."""

from __future__ import annotations

from typing import Any, cast

from agent.bridge.tasks.live_objects.changes import was_deleted
from agent.bridge.tasks.live_objects.task_object import TaskObject
from bus.identity import ResourceKey


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
