"""Tools: what executors reach for, and the questions that most of them begin with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from agent.bridge.doing import TaskFailedError
from agent.bridge.endings import Endings
from agent.bridge.executor.nodes import Node, nodes_of
from agent.bridge.keys import Keys
from agent.git.mirrors import Mirrors
from agent.kube.client import KubeClient
from agent.kube.live import Live
from agent.store.applications import Applications
from agent.store.renders import RenderStore
from agent.store.secrets import Secrets
from bus.identity import AppKey, ResourceKey
from bus.jetstream import Bus
from bus.link import Task
from handlers.application.application import Application
from handlers.compare.worlds.handler import Worlds
from handlers.control_plane.governance import Governance
from handlers.ports import Artifacts, Clock
from handlers.render.evaluate.handler import Evaluate
from handlers.report.redaction import Redaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    applications: Applications
    bus: Bus
    client: KubeClient
    live: Live
    mirrors: Mirrors
    artifacts: Artifacts
    renders: RenderStore
    worlds: Worlds
    evaluate: Evaluate
    endings: Endings
    governance: Governance
    secrets: Secrets
    redaction: Callable[[], Redaction]
    keys: Callable[[], Keys]
    clock: Clock
    namespace: str
    """Of the control plane."""

    def app(self, task: Task) -> Application:
        """The application that the task is about, if the world is as the task wants it."""
        app = self.applications.get(app_key(task))
        if app is None:
            raise TaskFailedError("not_found", f"there is no application {task.subject}")
        differing = differences(task, app)
        if differing:
            raise TaskFailedError("conflict", f"{task.subject} changed: {differing}")
        return app

    def nodes(self, app: Application) -> dict[ResourceKey, Node]:
        """The live objects of the application that the control plane may look at."""
        found = nodes_of(app, self.live)
        return {key: node for key, node in found.items() if not self.governance.hidden(key)}


def app_key(task: Task) -> AppKey:
    try:
        return AppKey.parse(task.subject)
    except ValueError as error:
        raise TaskFailedError("invalid", str(error)) from error


def differences(task: Task, app: Application) -> str:
    """What of the precondition does not hold, in words."""
    is_ = {
        "uid": app.metadata.uid,
        "resourceVersion": app.metadata.resource_version,
        "revision": app.status.sync.revision,
    }
    unknown = [name for name in task.precondition if name not in is_]
    if unknown:
        return f"precondition {unknown[0]!r} is not known to this version"
    wrong = (
        f"{name} is {is_[name]}, expected {wanted}"
        for name, wanted in task.precondition.items()
        if wanted and is_[name] != wanted
    )
    return "; ".join(wrong)
