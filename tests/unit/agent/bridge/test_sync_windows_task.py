"""The calendar of sync windows has a bound, because each window costs time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.bridge.tasks.executors.sync_windows import SyncWindowsExecutor
from agent.bridge.tasks.task_context import TaskFailedError
from bus.link import LinkTask, SyncWindowsArguments, TaskKind
from handlers.application.application import AppProject, AppProjectSpec, Metadata
from handlers.control_plane.policy import ControlPlanePolicy

WINDOW = {"kind": "deny", "schedule": "0 22 * * *", "duration": "8h", "applications": ["*"]}


async def test_a_project_with_too_many_windows_is_told_so() -> None:
    spec = AppProjectSpec(sync_windows=(WINDOW,) * 101)
    project = AppProject(metadata=Metadata(name="frozen"), spec=spec)
    lookup = SimpleNamespace(project=lambda _name: project)
    executor = SyncWindowsExecutor(
        subjects=cast("Any", None),
        cluster=cast("Any", SimpleNamespace(applications=lookup)),
        governance=cast("Any", SimpleNamespace(policy=ControlPlanePolicy)),
    )
    task = LinkTask(id="t", kind=TaskKind.SYNC_WINDOWS, subject="argocd/frozen", actor="ann")
    with pytest.raises(TaskFailedError, match="101 sync windows"):
        await executor(task, SyncWindowsArguments(project="frozen"), cast("Any", None))
