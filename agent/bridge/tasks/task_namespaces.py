"""TaskNamespaces: the namespaces that a task may touch, which the policy has to permit.

How they are found is the scope in the row of the task's kind (bus/link/tasks.py). The object of a
put or delete is read with `write_target` by policy check and executor alike, so that the object
that is permitted is the object that is written, whatever the task's other fields say. An
Application of another namespace than the control namespace touches that namespace too.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from agent.store.applications import Applications
from bus.identity import AppKey
from bus.link import (
    DeleteArguments,
    LinkTask,
    ObjectArguments,
    PutArguments,
    TaskArguments,
    TaskScope,
    arguments_of,
)
from bus.link.kinds import APPLICATION
from handlers.manifest import access


class WriteTarget(msgspec.Struct, frozen=True):
    """The object that a put or delete is about."""

    kind: str
    namespace: str
    """As it is written, which may be no name of a namespace at all."""
    name: str


def write_target(
    subject: str, args: PutArguments | DeleteArguments, control_namespace: str
) -> WriteTarget:
    """Read the object from the arguments and the subject of a task.

    A put with a manifest writes the object that the manifest names; any other task that of its
    subject. Only Applications are in other namespaces than the control namespace.
    """
    if isinstance(args, PutArguments) and args.manifest is not None:
        kind, name = access.kind(args.manifest), access.name(args.manifest)
        namespace = access.namespace(args.manifest)
    else:
        namespace, slash, name = subject.rpartition("/")
        kind = args.kind
        if slash and not namespace:
            namespace = "/"  # "/web" names no namespace, and not the control namespace either
    is_elsewhere = kind == APPLICATION.name and namespace
    return WriteTarget(kind, namespace if is_elsewhere else control_namespace, name)


@dataclass(frozen=True, slots=True)
class TaskNamespaces:
    applications: Applications
    namespace: str
    """The control namespace, with Applications, projects and credentials."""

    def __call__(self, task: LinkTask) -> tuple[str, ...]:
        """The namespaces, sorted; an empty name stands for the whole cluster."""
        return tuple(sorted(self._touched(task)))

    def _touched(self, task: LinkTask) -> set[str]:
        """An unreadable task counts as one of the control namespace; its executor refuses it."""
        scope = task.kind.row.scope
        if scope is TaskScope.AGENT:
            return set()
        try:
            arguments = arguments_of(task)
        except msgspec.ValidationError:
            return {self.namespace}
        if scope is TaskScope.WRITTEN:
            return self._written(task.subject, arguments)
        namespace, _, name = task.subject.partition("/")
        return self._of_app(AppKey(namespace, name)) | _named(scope, arguments)

    def _written(self, subject: str, arguments: TaskArguments) -> set[str]:
        """Only an Application touches more than the control namespace."""
        if not isinstance(arguments, PutArguments | DeleteArguments):
            return {self.namespace}
        target = write_target(subject, arguments, self.namespace)
        if target.kind != APPLICATION.name:
            return {self.namespace}
        found = self._of_app(AppKey(target.namespace, target.name))
        if target.namespace != self.namespace:
            found.add(target.namespace)
        if isinstance(arguments, PutArguments):
            found.add(access.text(arguments.manifest, "spec", "destination", "namespace"))
        return found

    def _of_app(self, key: AppKey) -> set[str]:
        """The destination namespace of the Application, if it exists."""
        app = self.applications.get(key)
        return {app.spec.destination.namespace} if app is not None else set()


def _named(scope: TaskScope, arguments: TaskArguments) -> set[str]:
    """The namespace that the arguments name; one object without a namespace is the cluster's."""
    namespace = arguments.namespace if isinstance(arguments, ObjectArguments) else ""
    return {namespace} if namespace or scope is TaskScope.OBJECT else set()
