"""ShellPermission: why there may be no shell in a pod now. It is asked again while one is open."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.live_objects.task_object import TaskObject
from bus.identity import AppKey, ResourceKey
from bus.link import ExecArguments, TaskKind
from handlers.application.application import Application
from handlers.application.project import cluster_problem, destination_permitted
from handlers.ports import Apps


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellPermission:
    apps: Apps
    visible: VisibleObjects
    app: AppKey
    args: ExecArguments

    def problem(self) -> str:
        """Why the settings, the policy or the project permit none; empty where they do."""
        app = self.apps.get(self.app)
        if app is None:
            return f"there is no application {self.app} any more"
        governance = self.visible.governance
        policy = governance.policy()
        return (
            self.visible.settings().exec.problem()
            or policy.exec_problem()
            or policy.refusal(TaskKind.EXEC, (self.args.namespace,))
            or self._own_problem(app)
            or next(iter(governance.control_plane_denials(app, (self._pod,)).values()), "")
            or self._project_problem(app)
        )

    def problem_of(self, found: TaskObject) -> str:
        """The same for a shell that is open: in this very pod, with the rights of its user."""
        if problem := self.problem():
            return problem
        node = self.visible.nodes(found.app).get(found.key)
        if node is None or node.live.uid != found.uid:
            return f"{found.key} is no live object of {self.app} any more"
        if self.visible.client_as(found.app).impersonated != found.client.impersonated:
            return f"the project of {self.app} names another ServiceAccount now"
        return ""

    @property
    def _pod(self) -> ResourceKey:
        return ResourceKey("", "Pod", self.args.namespace, self.args.name)

    def _own_problem(self, app: Application) -> str:
        """Keys of the link and tokens of the agent are mounted there, whatever the policy says."""
        is_own = self.args.namespace == self.visible.governance.control_namespace
        if not (is_own and self.visible.session(app).may_be_own):
            return ""
        return f"{self.args.namespace!r} is the agent's own namespace: no shell is opened there"

    def _project_problem(self, app: Application) -> str:
        project = self.apps.project(app.spec.project)
        namespace = self.args.namespace
        destination = replace(app.spec.destination, namespace=namespace)
        registered = self.visible.session(app).registered
        if project is None or not destination_permitted(project, destination, registered.cluster):
            return (
                f"the AppProject {app.spec.project!r} of {app.key} does not permit the namespace"
                f" {namespace!r} of this cluster"
            )
        return cluster_problem(project, registered)
