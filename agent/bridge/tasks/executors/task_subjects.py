"""TaskSubjects: finds the Application that a task is about, and checks the task's precondition."""

from __future__ import annotations

from dataclasses import dataclass

from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.store.applications import Applications
from bus.identity import AppKey
from bus.link import LinkTask
from handlers.application.application import Application


@dataclass(frozen=True, slots=True)
class TaskSubjects:
    applications: Applications

    def app(self, task: LinkTask) -> Application:
        """The task's Application; raises TaskFailedError if the precondition does not hold."""
        app = self._app(task)
        differing = _differences(task, app)
        if differing:
            raise TaskFailedError("conflict", f"{task.subject} changed: {differing}")
        return app

    def app_of_command(self, task: LinkTask, context: TaskContext) -> Application:
        """Check the precondition only once: a task cut off may have changed its object itself."""
        return self._app(task) if context.repeated else self.app(task)

    def _app(self, task: LinkTask) -> Application:
        app = self.applications.get(_app_key(task))
        if app is None:
            raise TaskFailedError("not_found", f"there is no application {task.subject}")
        return app


def _app_key(task: LinkTask) -> AppKey:
    try:
        return AppKey.parse(task.subject)
    except ValueError as error:
        raise TaskFailedError("invalid", str(error)) from error


def _differences(task: LinkTask, app: Application) -> str:
    """The parts of the precondition that do not hold, in words; empty if all hold."""
    current = {
        "uid": app.metadata.uid,
        "resourceVersion": app.metadata.resource_version,
        "revision": app.status.sync.revision,
    }
    unknown = [name for name in task.precondition if name not in current]
    if unknown:
        return f"precondition {unknown[0]!r} is not known to this version"
    mismatches = (
        f"{name} is {current[name]}, expected {expected}"
        for name, expected in task.precondition.items()
        if expected and current[name] != expected
    )
    return "; ".join(mismatches)
