"""Which namespaces a task may touch: what the customer's limits are held against."""

from typing import Any, cast

import msgspec
import pytest

from agent.bridge.tasks.task_namespaces import TaskNamespaces
from agent.store.applications import Applications
from bus.link import LinkTask, TaskKind

MANIFEST = {"kind": "Application", "spec": {"destination": {"namespace": "blog"}}}

WEB = {"name": "web"}
THEIRS = {"name": "web", "namespace": "team"}
PROJECT = {"kind": "AppProject", "spec": MANIFEST["spec"]}


@pytest.fixture
def reach() -> TaskNamespaces:
    apps = Applications(cast("Any", None))
    spec = {"destination": {"namespace": "shop"}}
    metadata = {"name": "web", "namespace": "argocd", "resourceVersion": "1"}
    apps.put_application(msgspec.json.encode({"metadata": metadata, "spec": spec}))
    spec = {"destination": {"namespace": "blog"}}
    metadata = {"name": "web", "namespace": "team", "resourceVersion": "1"}
    apps.put_application(msgspec.json.encode({"metadata": metadata, "spec": spec}))
    return TaskNamespaces(apps, "argocd")


@pytest.mark.parametrize(
    ("kind", "subject", "arguments", "touched"),
    [
        (TaskKind.SYNC, "argocd/web", {}, ("shop",)),
        (TaskKind.SYNC, "argocd/absent", {}, ()),
        (TaskKind.PUT, "argocd/web", {"manifest": {**MANIFEST, "metadata": WEB}}, ("blog", "shop")),
        (TaskKind.PUT, "argocd/new", {"manifest": {"kind": "Application", "spec": {}}}, ("",)),
        (TaskKind.PUT, "x", {"manifest": {"kind": "AppProject", "spec": {}}}, ("argocd",)),
        (TaskKind.PUT, "https://x", {"kind": "Repository"}, ("argocd",)),
        (TaskKind.DELETE, "argocd/repo", {"kind": "Repository"}, ("argocd",)),
        (TaskKind.DELETE, "argocd/web", {"kind": "Application"}, ("shop",)),
        (TaskKind.DELETE, "web", {}, ("shop",)),
        (TaskKind.DELETE, "team/web", {}, ("blog", "team")),
        (TaskKind.DELETE, "elsewhere/web", {}, ("elsewhere",)),
        (TaskKind.DELETE, "a/b/web", {"kind": "Application", "cascade": False}, ("a/b",)),
        (TaskKind.DELETE, "/web", {}, ("/",)),
        (TaskKind.DELETE, "team/web", {"kind": "AppProject"}, ("argocd",)),
        (
            TaskKind.PUT,
            "team/web",
            {"manifest": {**MANIFEST, "metadata": THEIRS}},
            ("blog", "team"),
        ),
        (TaskKind.DELETE, "web", {"kind": "AppProject", "manifest": MANIFEST}, ("argocd",)),
        (TaskKind.DELETE, "web", {"kind": "Repository", "manifest": MANIFEST}, ("argocd",)),
        (TaskKind.DELETE, "web", {"kind": "Application", "manifest": MANIFEST}, ("shop",)),
        (TaskKind.DELETE, "web", {"kind": 1}, ("argocd",)),
        (TaskKind.PUT, "", {"manifest": {**MANIFEST, "metadata": WEB}}, ("blog", "shop")),
        (TaskKind.PUT, "x/web", {"manifest": {**MANIFEST, "metadata": WEB}}, ("blog", "shop")),
        (TaskKind.PUT, "x", {"kind": "Application", "manifest": PROJECT}, ("argocd",)),
        (TaskKind.PUT, "x", {"kind": "Repository", "manifest": {}}, ("argocd",)),
        (TaskKind.LIVE, "argocd/web", {"namespace": "other"}, ("other", "shop")),
        (TaskKind.LIVE, "argocd/web", {"kind": "ClusterRole"}, ("", "shop")),
        (TaskKind.LOGS, "argocd/web", {"namespace": "other"}, ("other", "shop")),
        (TaskKind.REFS, "argocd/web", {"url": "x"}, ()),
    ],
)
def test_a_task_reaches_where_its_objects_are(
    reach: TaskNamespaces,
    kind: TaskKind,
    subject: str,
    arguments: dict[str, Any],
    touched: tuple[str, ...],
) -> None:
    task = LinkTask(id="t", kind=kind, subject=subject, actor="a", arguments=arguments)
    assert reach(task) == touched
