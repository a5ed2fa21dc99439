"""Reach: which namespaces a task may touch, to be held against the customer's limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.store.applications import Applications
from bus.identity import AppKey
from bus.link import Task, TaskKind
from handlers.manifest import access

_OF_THE_AGENT = frozenset({TaskKind.REFS})


@dataclass(frozen=True, slots=True)
class Reach:
    applications: Applications
    namespace: str
    """Of the control plane: where Applications, projects and credentials live."""

    def __call__(self, task: Task) -> tuple[str, ...]:
        if task.kind in _OF_THE_AGENT:
            return ()
        manifest = access.mapping(task.arguments, "manifest")
        found = {*self._of_app(task), *_destination(access.mapping(manifest, "spec"))}
        if task.kind in (TaskKind.LIVE, TaskKind.EVENTS, TaskKind.LOGS):
            found.add(access.text(task.arguments, "namespace"))
        return tuple(sorted(found - {""}))

    def _of_app(self, task: Task) -> set[str]:
        """Where its objects go; a resource with a namespace of its own is in the destination's."""
        namespace, _, name = task.subject.partition("/")
        app = self.applications.get(AppKey(namespace, name)) if name else None
        return {app.spec.destination.namespace} if app is not None else set()


def _destination(spec: Any) -> set[str]:
    return {access.text(spec, "destination", "namespace")}
