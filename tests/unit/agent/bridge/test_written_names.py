"""A put or delete over the link names its object in one form, which policy and API server read."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from agent.bridge.tasks.executors.written_manifest import checked_manifest
from agent.bridge.tasks.executors.written_objects import ObjectWriter
from agent.bridge.tasks.task_context import TaskFailedError
from bus.link import DeleteArguments, LinkTask, TaskKind

NONE = cast("Any", None)
NAMES = ("w%65b", "web?dryRun=All", "web#", "Web", "..", "%2e%2e", "web/status", "", "a" * 254)


def task(kind: TaskKind, subject: str = "") -> LinkTask:
    return LinkTask(id="t", kind=kind, subject=subject, actor="ann")


@pytest.mark.parametrize("name", NAMES)
def test_a_put_takes_no_name_that_a_url_spells_otherwise(name: str) -> None:
    manifest = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": name},
    }
    places = cast("Any", SimpleNamespace(control_namespace="argocd"))
    with pytest.raises(TaskFailedError, match="name") as refused:
        checked_manifest(manifest, task(TaskKind.PUT), places)
    assert refused.value.code == "invalid"


@pytest.mark.parametrize("name", [name for name in NAMES if "/" not in name])
async def test_a_delete_takes_no_name_that_a_url_spells_otherwise(name: str) -> None:
    cluster = cast("Any", SimpleNamespace(namespace="argocd"))
    writer = ObjectWriter(cluster=cluster, governance=NONE, places=NONE, redaction=NONE)
    with pytest.raises(TaskFailedError, match="is no name") as refused:
        await writer.delete(task(TaskKind.DELETE, f"argocd/{name}"), DeleteArguments(), NONE)
    assert refused.value.code == "invalid"
