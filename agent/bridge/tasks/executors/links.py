"""LinksExecutor: answers with the deep links of an application, an object of it, or a project.

What the templates see is redacted before, as it is when it is shown: a link is text that leaves the
cluster. They are evaluated in the sandbox.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from agent.bridge.cluster_state import ClusterState
from agent.bridge.reporting.object_nodes import VisibleObjects
from agent.bridge.tasks.executors.live import live_object
from agent.bridge.tasks.executors.task_subjects import TaskSubjects
from agent.bridge.tasks.task_context import TaskContext, TaskFailedError
from bus.link import LinksArguments, LinkTask
from handlers.application.application import Application, AppProject
from handlers.application.deep_links import (
    DeepLink,
    DeepLinks,
    EvaluatedLink,
    ShownLink,
    shown_links,
    url_problem,
)
from handlers.application.unknown_annotations import MANAGED_BY
from handlers.report.redaction import Redaction
from sandbox.client import Evaluation, Sandbox, SandboxBusyError, SandboxError
from sandbox.client.evaluation import NoFiles

_SECONDS = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class LinksExecutor:
    subjects: TaskSubjects
    objects: VisibleObjects
    cluster: ClusterState
    redaction: Callable[[], Redaction]
    sandbox: Sandbox

    async def __call__(self, task: LinkTask, args: LinksArguments, _context: TaskContext) -> object:
        links = self.objects.settings().deep_links
        if args.project:
            return await self._of_project(args.project, links)
        app = self.subjects.app(task)
        if args.kind:
            found = await self._of_object(app, args, links.resource)
        else:
            found = await self._evaluated(links.application, app.spec.project, self._data(app))
        items, problems = found
        own = () if args.kind else tuple(_managed_by(app))
        return _answer((*own, *items), problems)

    async def _of_project(self, name: str, links: DeepLinks) -> object:
        project = self.cluster.applications.project(name)
        if project is None:
            raise TaskFailedError("not_found", f"there is no AppProject {name}")
        data = {"project": self._project(project)}
        return _answer(*await self._evaluated(links.project, name, data))

    async def _of_object(
        self, app: Application, args: LinksArguments, links: Sequence[DeepLink]
    ) -> tuple[Sequence[ShownLink], Sequence[str]]:
        if not links:
            return (), ()
        manifest = await live_object(self.objects, app, args)
        data = {**self._data(app), "resource": self.redaction().manifest(manifest)}
        return await self._evaluated(links, app.spec.project, data)

    def _data(self, app: Application) -> dict[str, Any]:
        """What a template sees besides the object, by the names of Argo CD."""
        shown = self.redaction().value(msgspec.to_builtins(app))
        registered = self.cluster.clusters.registered(app.spec.destination)
        cluster = registered.cluster
        found = {
            "application": shown,
            "app": shown,
            "cluster": {
                "name": cluster.name,
                "server": cluster.server,
                "project": registered.project,
                "namespaces": list(registered.namespaces),
            },
        }
        project = self.cluster.applications.project(app.spec.project)
        return {**found, "project": self._project(project)} if project else found

    def _project(self, project: AppProject) -> Any:
        return self.redaction().value(msgspec.to_builtins(project))

    async def _evaluated(
        self, links: Sequence[DeepLink], project: str, data: Mapping[str, Any]
    ) -> tuple[Sequence[ShownLink], Sequence[str]]:
        if not links:
            return (), ()
        written = [{"url": one.url, "condition": one.condition} for one in links]
        work = Evaluation(
            op="deeplinks",
            params={"links": written},
            body=msgspec.json.encode(data),
            files=NoFiles(),
            project=project,
            only_try=_SECONDS,
        )
        try:
            _, body = await self.sandbox.run(work)
        except SandboxBusyError as error:
            raise TaskFailedError("unavailable", str(error)) from error
        except SandboxError as error:
            return (), (f"the links of argocd-cm cannot be evaluated: {error.message}"[:500],)
        return shown_links(links, msgspec.json.decode(body, type=list[EvaluatedLink]))


def _managed_by(app: Application) -> Sequence[ShownLink]:
    """The place where people manage the Application, where it names one."""
    url = app.metadata.annotations.get(MANAGED_BY, "")
    return (ShownLink(title="Managed by", url=url),) if url and not url_problem(url) else ()


def _answer(items: Sequence[ShownLink], problems: Sequence[str]) -> dict[str, Any]:
    return {"items": [msgspec.to_builtins(one) for one in items], "problems": list(problems)}
