"""ApplicationPlaces: the namespaces in which Applications may be written over the link.

Besides the control namespace it is one that the agent follows and the AppProject admits: elsewhere
nothing would come of the write, or a project would be used that is none of that namespace's. Which
namespaces the control plane may touch is the policy's rule, which is asked before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from agent.bridge.tasks.task_context import TaskFailedError
from agent.store.applications import Applications
from handlers.application.argo_settings import ArgoSettings
from handlers.application.project import admits

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplicationPlaces:
    applications: Applications
    settings: Callable[[], ArgoSettings]
    control_namespace: str

    def problem(self, namespace: str, project_name: str) -> str:
        """Why no Application of the project is written in the namespace; empty where one may be."""
        if problem := self._unfollowed(namespace):
            return problem
        project = self.applications.project(project_name)
        if namespace == self.control_namespace or (project and admits(project, namespace)):
            return ""
        return (
            f"the AppProject {project_name} does not admit Applications of the namespace"
            f" {namespace}: its owner may add it to sourceNamespaces"
        )

    def follows(self, namespace: str) -> bool:
        """Whether Applications of another namespace than the control namespace are followed."""
        is_named = bool(_NAMESPACE.fullmatch(namespace)) and namespace != self.control_namespace
        return is_named and self.settings().source_namespaces.follows(namespace)

    def check_followed(self, namespace: str) -> None:
        """Raise TaskFailedError where nobody would act on an Application of the namespace."""
        if problem := self._unfollowed(namespace):
            raise TaskFailedError("not_allowed", problem)

    def check(self, namespace: str, project: str) -> None:
        """Raise TaskFailedError with the problem, if there is one."""
        if problem := self.problem(namespace, project):
            raise TaskFailedError("not_allowed", problem)

    def _unfollowed(self, namespace: str) -> str:
        if namespace == self.control_namespace or self.follows(namespace):
            return ""
        return (
            f"{namespace!r} is neither {self.control_namespace}, the namespace of this agent, nor"
            " one whose Applications it follows: application.namespaces of argocd-cmd-params-cm"
            " names those"
        )
