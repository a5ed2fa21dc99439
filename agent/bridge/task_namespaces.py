"""Which namespaces a task may touch, to be held against the customer's policy."""

from __future__ import annotations

from dataclasses import dataclass

from agent.store.applications import Applications
from bus.identity import AppKey
from bus.link import Task, TaskKind
from handlers.manifest import access

_OF_THE_AGENT = frozenset({TaskKind.REFS})


@dataclass(frozen=True, slots=True)
class TaskNamespaces:
    applications: Applications
    namespace: str
    """Of the control plane: where Applications, projects and credentials live."""

    def __call__(self, task: Task) -> tuple[str, ...]:
        """An empty name stands for the whole cluster."""
        if task.kind in _OF_THE_AGENT:
            return ()
        if task.kind in (TaskKind.PUT, TaskKind.DELETE) and not _is_of_app(task):
            return (self.namespace,)
        found = self._of_app(task)
        manifest = access.mapping(task.arguments, "manifest")
        if manifest:
            found.add(access.text(manifest, "spec", "destination", "namespace"))
        if task.kind is TaskKind.LIVE or access.text(task.arguments, "namespace"):
            found.add(access.text(task.arguments, "namespace"))
        return tuple(sorted(found))

    def _of_app(self, task: Task) -> set[str]:
        """Where its objects go; a resource with a namespace of its own is in the destination's."""
        namespace, _, name = task.subject.partition("/")
        app = self.applications.get(AppKey(namespace, name)) if name else None
        return {app.spec.destination.namespace} if app is not None else set()


def _is_of_app(task: Task) -> bool:
    said = access.text(task.arguments, "manifest", "kind") or access.text(task.arguments, "kind")
    return said in ("", "Application")
