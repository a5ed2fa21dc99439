"""ShellExecutor: opens a shell in a container of an application's pod, and reports its exit code.

There is one only where `argocd-cm` says `exec.enabled`, `gitops-agent-limits` says `exec`, and the
agent (or the ServiceAccount that the project names) has the right on `pods/exec`. All of that holds
for as long as the shell runs. Only the shells of `exec.shells` are run, never a command.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog
from msgspec.structs import replace

from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.live_objects.task_object import TaskObject, TaskObjects
from agent.bridge.tasks.shells.shell_permission import ShellPermission
from agent.bridge.tasks.shells.shell_session import ShellLimits, ShellSession
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from agent.kube.client import KubeClient
from agent.kube.errors import ForbiddenError
from agent.kube.exec_channels import ExecEnd, is_shell_missing
from agent.kube.pod_exec import open_pod_exec
from bus.identity import AppKey, ResourceKey
from bus.link import ExecArguments, LinkTask
from handlers.manifest.pods import container_names, default_container

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellExecutor:
    objects: TaskObjects
    visible: VisibleObjects
    limits: ShellLimits
    _open: set[str] = field(default_factory=set)
    """Ids of the tasks whose shells are open."""

    async def __call__(
        self, task: LinkTask, args: ExecArguments, task_context: TaskContext
    ) -> object:
        if task_context.repeated:
            raise TaskFailedError("cancelled", "the shell was cut off: the agent was restarted")
        permission = self._permission(self.objects.subjects.app(task).key, args)
        if problem := permission.problem():
            raise TaskFailedError("not_allowed", problem)
        if len(self._open) >= self.limits.at_once:
            text = f"{self.limits.at_once} shells are open at this agent: end one, then try again"
            raise TaskFailedError("failed", text)
        self._open.add(task.id)
        try:
            pod = replace(args, group="", kind="Pod")
            found = await self.objects.find(task, pod, task_context)
            with _log_of(task, found, args):
                return await self._run(found, args, task_context)
        finally:
            self._open.remove(task.id)

    async def _run(self, found: TaskObject, args: ExecArguments, context: TaskContext) -> object:
        container = _container(found, args.container)
        shells = self.visible.settings().exec.shells
        for shell in shells:
            session, end = await self._session(found, (container, shell), args, context)
            if is_shell_missing(end, used=session.received > 0):
                continue
            if end.exit_code is None:
                raise TaskFailedError("failed", f"no shell in {found.key.name}: {end.message}")
            sizes = {"sent": session.sent, "received": session.received}
            return {"exitCode": end.exit_code, "shell": shell, "container": container, **sizes}
        text = f"container {container} of pod {found.key.name} has none of the shells"
        raise TaskFailedError("not_found", f"{text} {', '.join(shells)} (exec.shells of argocd-cm)")

    async def _session(
        self,
        found: TaskObject,
        chosen: tuple[str, str],
        args: ExecArguments,
        context: TaskContext,
    ) -> tuple[ShellSession, ExecEnd]:
        key, (container, shell) = found.key, chosen
        try:
            async with open_pod_exec(
                found.client, key.namespace, key.name, container, shell
            ) as pod_exec:
                session = ShellSession(
                    pod_exec=pod_exec,
                    stream=context.stream,
                    input=context.input,
                    limits=self.limits,
                    problem=partial(self._permission(found.app.key, args).problem_of, found),
                )
                await pod_exec.resize(args.columns, args.rows)
                try:
                    return session, await session.run()
                finally:
                    sizes = {"sent": session.sent, "received": session.received}
                    _log.info("shell over", pod=str(key), container=container, shell=shell, **sizes)
        except ForbiddenError as error:
            raise TaskFailedError("not_allowed", _right(found.client, key, error)) from error

    def _permission(self, app: AppKey, args: ExecArguments) -> ShellPermission:
        apps = self.objects.comparisons.apps
        return ShellPermission(apps=apps, visible=self.visible, app=app, args=args)


@contextmanager
def _log_of(task: LinkTask, found: TaskObject, args: ExecArguments) -> Iterator[None]:
    """Log who is in which pod, and why it ended: where the service lies, nobody else does."""
    about = {"task": task.id, "actor": task.actor, "app": str(found.app.key)}
    log = _log.bind(**about, pod=str(found.key), container=args.container)
    log.info("shell asked for")
    try:
        yield
    except BaseException as error:
        log.info("shell ended", cause=str(error) or type(error).__name__)
        raise
    log.info("shell ended", cause="its own end")


def _container(found: TaskObject, name: str) -> str:
    """Choose the container as `kubectl exec` does; raises TaskFailedError for an unknown one."""
    names = container_names(found.manifest)
    if name and name not in names:
        text = f"pod {found.key.name} has no container {name!r}; there are: {', '.join(names)}"
        raise TaskFailedError("not_found", text[:500])
    return name or default_container(found.manifest)


def _right(client: KubeClient, pod: ResourceKey, error: ForbiddenError) -> str:
    who = client.impersonated or "the agent"
    return (
        f"{who} may not exec into {pod} ({error.message}): it needs get and create on pods/exec in"
        f" {pod.namespace}, for the agent `link.exec` of the chart"
    )
